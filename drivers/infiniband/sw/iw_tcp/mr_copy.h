/* SPDX-License-Identifier: GPL-2.0 */
/* Copying of message data. */
#ifndef IWT_MR_COPY_H
#define IWT_MR_COPY_H

#include <linux/types.h>

void iwt_copy(u8 *to, const u8 *from, size_t len);
void iwt_copy_out(u8 *to, const u8 *from, u32 len);

#endif
