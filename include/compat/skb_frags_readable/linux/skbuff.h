/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_SKBUFF_H
#define COMPAT_LINUX_SKBUFF_H

#include_next <linux/skbuff.h>

/* This kernel lacks skb_frags_readable(): fragments are never in device memory. */
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}

#endif
