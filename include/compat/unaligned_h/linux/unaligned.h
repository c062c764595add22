/* SPDX-License-Identifier: GPL-2.0 */
/* This kernel lacks <linux/unaligned.h>. */
#ifndef COMPAT_LINUX_UNALIGNED_H
#define COMPAT_LINUX_UNALIGNED_H

#include <asm/unaligned.h>

#endif
