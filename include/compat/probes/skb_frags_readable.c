// SPDX-License-Identifier: GPL-2.0
#include <linux/skbuff.h>

static inline bool probe(struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}
