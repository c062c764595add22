/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_UBUF_H
#define COMPAT_UBUF_H

#include <linux/skbuff.h>

/*
 * This kernel lacks struct ubuf_info_ops: a ubuf_info has the pointer callback instead of a table
 * with the function complete().
 */
struct ubuf_info_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf, bool ok);
};

static inline void compat_ubuf_init(struct ubuf_info *u,
				    const struct ubuf_info_ops *ops)
{
	u->callback = ops->complete;
}

#endif
