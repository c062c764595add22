// SPDX-License-Identifier: GPL-2.0
/*
 * What to do with a part of an FPDU when the rest does not come.
 *
 * It can't be dealt with before the rest is there. But TCP may take no more as long as it
 * is not read: without memory TCP takes a segment only into an empty queue, and a buffer
 * may be full of what was read already, as long as it shares its memory with the part; or
 * be too small for the FPDU. So the part is read, into memory of our own.
 */
#include "sock.h"

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/* Octets of the first memory that is taken for them. */
#define ASIDE_MIN	256

/* May the sender not go on? Then TCP calls whatever is awaited (tcp_epollin_ready()). */
static bool is_closed(const struct iwt_sock *s)
{
	return tcp_rmem_pressure(s->sk) ||
	       tcp_receive_window(tcp_sk(s->sk)) <=
	       inet_csk(s->sk)->icsk_ack.rcv_mss;
}

/*
 * Room for @len octets, those that are there among them. It grows by powers of two: a peer
 * may send an FPDU octet by octet, and what is there is not to be copied for each of them.
 */
static bool make_room(struct iwt_sock *s, u32 len)
{
	u32 size = roundup_pow_of_two(max_t(u32, len, ASIDE_MIN));
	u8 *mem;

	if (len <= s->aside.size - s->aside.off)
		return true;
	mem = kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	if (!mem) {
		size = len;
		mem = kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	}
	if (!mem)
		return false;
	if (s->aside.len)
		memcpy(mem, s->aside.mem + s->aside.off, s->aside.len);
	kfree(s->aside.mem);
	s->aside.mem = mem;
	s->aside.size = size;
	s->aside.off = 0;
	return true;
}

/**
 * iwt_sock_set_aside() - take what has been received, if nothing more comes otherwise
 * @s: socket, lock held; what is there is a part of an FPDU
 *
 * iwt_sock_peek() still shows it. That is no more than an FPDU for each connection, and
 * has been received: a length that is only told costs nothing. Without memory for it
 * ops->kick is called a little later. Never sleeps.
 */
void iwt_sock_set_aside(struct iwt_sock *s)
{
	struct iwt_sock_cursor cur;
	u32 len, new;

	if (likely(!is_closed(s)))
		return;
	len = iwt_sock_peek(s, &cur);
	if (len <= s->aside.len)
		return;
	new = len - s->aside.len;
	if (!s->aside.len)
		s->aside.begins = iwt_sock_begins_segment(s, &cur, 0);
	if (!make_room(s, len)) {
		iwt_sock_retry(s);
		return;
	}
	/* the cursor may have been in memory that is gone */
	iwt_sock_peek(s, &cur);
	if (!iwt_cursor_skip(&cur.c, s->aside.len) ||
	    !iwt_cursor_copy(&cur.c, s->aside.mem + s->aside.off + s->aside.len, new))
		return;
	s->aside.len = len;
	tcp_read_done(s->sk, new);
}

/**
 * iwt_sock_drop_aside() - octets that were set aside have been dealt with
 * @s: socket, lock held
 * @len: how many of those that are there
 */
void iwt_sock_drop_aside(struct iwt_sock *s, u32 len)
{
	s->aside.off += len;
	s->aside.len -= len;
	if (s->aside.len)
		return;
	kfree(s->aside.mem);
	s->aside.mem = NULL;
	s->aside.size = 0;
	s->aside.off = 0;
}
