/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_SKBUFF_H
#define OLDER_LINUX_SKBUFF_H
#define ubuf_info_ops newer_ubuf_info_ops
#define ubuf_info newer_ubuf_info
#include_next <linux/skbuff.h>
#undef ubuf_info_ops
#undef ubuf_info
struct ubuf_info {
	void (*callback)(struct sk_buff *skb, struct ubuf_info *u, bool ok);
	refcount_t refcnt;
	u8 flags;
};
#endif
