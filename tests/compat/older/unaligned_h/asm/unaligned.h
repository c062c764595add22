/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_ASM_UNALIGNED_H
#define OLDER_ASM_UNALIGNED_H
#include_next <linux/unaligned.h>
#endif
