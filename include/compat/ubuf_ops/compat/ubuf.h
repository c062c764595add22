/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_UBUF_H
#define COMPAT_UBUF_H

#include <linux/skbuff.h>

/* In this kernel a ubuf_info has one callback instead of a table of operations. */
struct ubuf_info_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf, bool ok);
};

static inline void compat_ubuf_init(struct ubuf_info *u,
				    const struct ubuf_info_ops *ops)
{
	u->callback = ops->complete;
}

#endif
