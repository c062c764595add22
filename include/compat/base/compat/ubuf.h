/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_UBUF_H
#define COMPAT_UBUF_H

#include <linux/skbuff.h>

/* Set the callbacks of @u, a member of struct ubuf_info in this kernel. */
static inline void compat_ubuf_init(struct ubuf_info *u,
				    const struct ubuf_info_ops *ops)
{
	u->ops = ops;
}

#endif
