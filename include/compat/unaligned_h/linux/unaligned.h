/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_UNALIGNED_H
#define COMPAT_LINUX_UNALIGNED_H

#include <asm/unaligned.h>

#endif
