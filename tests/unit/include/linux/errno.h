/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_ERRNO_H
#define IWT_SHIM_ERRNO_H

#include <asm/errno.h>

#endif
