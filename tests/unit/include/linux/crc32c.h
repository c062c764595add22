/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's crc32c(): @crc is the register, and the result is its new value. */
#ifndef IWT_SHIM_CRC32C_H
#define IWT_SHIM_CRC32C_H

#include <linux/types.h>

u32 crc32c(u32 crc, const void *p, size_t len);

#endif
