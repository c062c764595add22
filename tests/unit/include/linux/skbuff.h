/* SPDX-License-Identifier: GPL-2.0 */
/* The fields of a socket buffer that a reader of received bytes uses. */
#ifndef IWT_SHIM_SKBUFF_H
#define IWT_SHIM_SKBUFF_H

#include <linux/types.h>

#define MAX_SKB_FRAGS	17

typedef struct {
	u8 *address;
	u32 size;
} skb_frag_t;

struct sk_buff;

struct skb_shared_info {
	u8 nr_frags;
	u16 gso_size;
	struct sk_buff *frag_list;
	skb_frag_t frags[MAX_SKB_FRAGS];
};

struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
};

struct sk_buff {
	struct sk_buff *next, *prev;
	u32 len;
	u32 data_len;
	u8 *data;
	struct tcp_skb_cb cb;
	struct skb_shared_info si;
};

#define skb_shinfo(skb)		(&(skb)->si)
#define skb_headlen(skb)	((skb)->len - (skb)->data_len)
#define skb_has_frag_list(skb)	((skb)->si.frag_list)
#define skb_frag_address(f)	((f)->address)
#define skb_frag_size(f)	((f)->size)

/* The buffer that the CPU can't read, or NULL */
extern const struct sk_buff *unit_unreadable;
#define skb_frags_readable(skb)	((skb) != unit_unreadable)

#endif
