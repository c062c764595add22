// SPDX-License-Identifier: GPL-2.0
/* Reading received data: find the data, set a part of an FPDU aside, consume the data. */
#include "sock.h"

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/* Smallest allocation, in bytes, for a part of an FPDU that is set aside. */
#define ASIDE_MIN	256

/* Memory in bytes that all sockets use for data that are set aside. */
static atomic64_t bytes_aside;

/*
 * Can the driver read all received data? This function checks only the skbs that arrived since
 * the last check, which is sufficient: TCP does not join a readable with an unreadable skb, and
 * joins no skbs with frag_lists.
 */
static bool all_readable(struct iwt_sock *s)
{
	struct sk_buff *skb;

	skb_queue_reverse_walk(&s->sk->sk_receive_queue, skb) {
		if (!after(TCP_SKB_CB(skb)->end_seq, s->readable))
			break;
		if (!iwt_sock_can_walk(skb)) {
			s->blind = true;
			return false;
		}
	}
	s->readable = tcp_sk(s->sk)->rcv_nxt;
	return true;
}

/**
 * iwt_sock_peek() - find the received data that were not consumed
 * @s: socket, lock held
 * @cur: receives a cursor at the first byte that was not consumed
 *
 * The cursor is valid until iwt_sock_consume() or iwt_sock_set_aside() is called, or the lock is
 * released.
 *
 * Return: number of bytes from the cursor on; 0 if there are no bytes or they can't be read:
 * then the caller must not use @cur.
 */
u32 iwt_sock_peek(struct iwt_sock *s, struct iwt_sock_cursor *cur)
{
	struct sock *sk = s->sk;
	struct sk_buff *skb;
	u32 off;

	sock_owned_by_me(s->sk);
	skb = tcp_recv_skb(sk, tcp_sk(sk)->copied_seq, &off);
	if (skb ? !all_readable(s) : !s->aside.len)
		return 0;
	iwt_sock_walk(cur, skb, (const struct sk_buff *)&sk->sk_receive_queue,
		      tcp_sk(sk)->copied_seq, off);
	if (s->aside.len)
		iwt_sock_walk_aside(cur, s->aside.mem + s->aside.off,
				    s->aside.len);
	return s->aside.len + (skb ? tcp_inq(sk) : 0);
}

/**
 * iwt_sock_peek_from() - find the received data after some data that stay unconsumed
 * @s: socket, lock held
 * @skip: number of bytes to skip
 * @cur: receives a cursor at the first byte after these bytes
 *
 * As iwt_sock_peek(). The search begins at the end of the queue, where new data arrive, so a
 * caller that searches again after each segment does not pass all skbs each time. The search can
 * end at the first skb that ends before that byte: all skbs before this skb end even earlier.
 *
 * Return: number of bytes from the cursor on; 0: the caller must not use @cur.
 */
u32 iwt_sock_peek_from(struct iwt_sock *s, u32 skip, struct iwt_sock_cursor *cur)
{
	const struct sk_buff_head *queue = &s->sk->sk_receive_queue;
	const struct sk_buff *skb, *first = NULL;
	u32 avail = iwt_sock_peek(s, cur), seq;

	if (avail <= skip)
		return 0;
	if (skip < s->aside.len)
		return iwt_cursor_skip_far(&cur->c, skip) ? avail - skip : 0;
	seq = tcp_sk(s->sk)->copied_seq + skip - s->aside.len;
	skb_queue_reverse_walk(queue, skb) {
		if (!after(TCP_SKB_CB(skb)->end_seq, seq))
			break;
		first = skb;
	}
	if (WARN_ON_ONCE(!first))
		return 0;
	iwt_sock_walk(cur, first, (const struct sk_buff *)queue, seq,
		      seq - TCP_SKB_CB(first)->seq);
	return avail - skip;
}

/**
 * iwt_sock_blind() - have data arrived that can't be read (iwt_sock_can_walk())?
 * @s: socket, lock held
 *
 * Return: true if such data have arrived: then nothing more can be read from the stream.
 */
bool iwt_sock_blind(const struct iwt_sock *s)
{
	return s->blind;
}

/**
 * iwt_sock_begins_segment() - is the byte at a cursor the first byte of a segment?
 * @s: socket, lock held
 * @cur: cursor, from which at least one byte can be read
 * @used: number of bytes between the position from iwt_sock_peek() and the cursor
 *
 * The result is a best guess: if the kernel has joined segments that arrived together, the
 * boundaries between them may be unknown.
 *
 * Return: true if so.
 */
bool iwt_sock_begins_segment(const struct iwt_sock *s,
			     const struct iwt_sock_cursor *cur, u32 used)
{
	u32 off, size;

	if (cur->aside)
		return !used && !s->aside.off && s->aside.begins;
	off = tcp_sk(s->sk)->copied_seq + used - s->aside.len -
	      TCP_SKB_CB(cur->top)->seq;
	size = skb_shinfo(cur->top)->gso_size;
	if (!off || off == cur->top->len)
		return true;
	return size && !(off % size);
}

/**
 * iwt_sock_count_begins() - at how many of several positions does a segment begin?
 * @s: socket, lock held
 * @cur: cursor at the first position; all positions are in the cursor's current piece
 * @used: number of bytes between the position from iwt_sock_peek() and @cur
 * @stride: number of bytes from one position to the next
 * @n: number of positions
 *
 * Return: number of positions at which a segment begins; a best guess, as in
 * iwt_sock_begins_segment().
 */
u32 iwt_sock_count_begins(const struct iwt_sock *s, const struct iwt_sock_cursor *cur,
			  u32 used, u32 stride, u32 n)
{
	u32 begins = 0, i;

	if (!cur->aside && skb_shinfo(cur->top)->gso_size == stride &&
	    iwt_sock_begins_segment(s, cur, used))
		return n;
	for (i = 0; i < n; i++)
		begins += iwt_sock_begins_segment(s, cur, used + i * stride);
	return begins;
}

/*
 * Has TCP stopped the sender? If so, TCP accepts no more data until some data are read. There are
 * three possible reasons: TCP has no memory, and then accepts a segment only into an empty queue;
 * the receive buffer is full, because bytes that were read share memory with bytes that were not
 * read; or the receive buffer is smaller than the FPDU. In all these cases TCP calls
 * ->data_ready, even if fewer bytes have arrived than were requested by iwt_sock_await()
 * (tcp_epollin_ready()).
 */
static bool is_closed(const struct iwt_sock *s)
{
	return tcp_rmem_pressure(s->sk) ||
	       tcp_receive_window(tcp_sk(s->sk)) <=
	       inet_csk(s->sk)->icsk_ack.rcv_mss;
}

/*
 * Make the memory of the bytes that are set aside large enough for @len bytes in total. The size
 * of the memory is a power of two if possible: a peer may send an FPDU byte by byte, and the
 * earlier bytes must not be copied for each byte. Return: false if memory is missing.
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
	atomic64_add((s64)size - s->aside.size, &bytes_aside);
	s->aside.mem = mem;
	s->aside.size = size;
	/* if some bytes were consumed, the new memory begins with another byte */
	s->aside.begins &= !s->aside.off;
	s->aside.off = 0;
	return true;
}

/**
 * iwt_sock_set_aside() - copy a part of an FPDU from TCP, if TCP has stopped the sender
 * @s: socket, lock held, that has received a part of an FPDU
 *
 * The part is copied to memory of the driver, and iwt_sock_peek() still returns it. The memory is
 * limited to one FPDU for each connection, and depends only on the data received, not on the
 * length that the FPDU announces. If the allocation fails, ops->run is called a little later.
 * Never sleeps.
 */
void iwt_sock_set_aside(struct iwt_sock *s)
{
	struct iwt_sock_cursor cur;
	u32 len, new;

	sock_owned_by_me(s->sk);
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
	/* make_room() may have freed the memory that the cursor pointed to */
	iwt_sock_peek(s, &cur);
	if (!iwt_cursor_skip(&cur.c, s->aside.len) ||
	    !iwt_cursor_copy(&cur.c, s->aside.mem + s->aside.off + s->aside.len, new))
		return;
	s->aside.len = len;
	tcp_read_done(s->sk, new);
}

/* Free @s->aside.mem, which may be NULL. @s: socket, lock held, or not in use any more. */
void iwt_sock_free_aside(struct iwt_sock *s)
{
	atomic64_sub(s->aside.size, &bytes_aside);
	kfree(s->aside.mem);
}

/* Memory of all sockets for data that are set aside; any context. Return: size in bytes. */
u64 iwt_sock_bytes_aside(void)
{
	return atomic64_read(&bytes_aside);
}

/* Consume bytes that were set aside. */
static void drop_aside(struct iwt_sock *s, u32 len)
{
	s->aside.off += len;
	s->aside.len -= len;
	if (s->aside.len)
		return;
	iwt_sock_free_aside(s);
	s->aside.mem = NULL;
	s->aside.size = 0;
	s->aside.off = 0;
}

/**
 * iwt_sock_consume() - remove data from the front of the received data
 * @s: socket, lock held
 * @len: number of bytes, at most the result of iwt_sock_peek()
 *
 * Never sleeps.
 */
void iwt_sock_consume(struct iwt_sock *s, u32 len)
{
	u32 aside = min(len, s->aside.len);

	sock_owned_by_me(s->sk);
	if (unlikely(aside))
		drop_aside(s, aside);
	if (len > aside)
		tcp_read_done(s->sk, len - aside);
}

/**
 * iwt_sock_at_eof() - has the peer's FIN arrived, and so all data of the peer?
 * @s: socket, lock held
 *
 * A reset ends both directions without a FIN. sk_err can't distinguish a FIN from a reset: an
 * ICMP message may set sk_err without ending the connection, and a process that reads sk_err
 * clears it.
 *
 * Return: true if so.
 */
bool iwt_sock_at_eof(const struct iwt_sock *s)
{
	return sock_flag(s->sk, SOCK_DONE);
}

/*
 * Return: the result of iwt_sock_recv() when no data can be read. If sk_err is set but the
 * connection has not ended, ICMP has caused the error, and the error is not reported.
 */
static int why_empty(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	if (iwt_sock_blind(s))
		return -ECONNRESET;
	if (iwt_sock_at_eof(s))
		return 0;
	if (sk->sk_state == TCP_CLOSE && sk->sk_err)
		return sock_error(sk);
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return 0;
	return sk->sk_state == TCP_CLOSE ? -ENOTCONN : -EAGAIN;
}

/**
 * iwt_sock_recv() - read received data
 * @s: socket
 * @buf: receives the data
 * @len: size of @buf in bytes
 *
 * For endpoints, not for the engines. Process context, may sleep, but waits neither for the peer
 * nor for a system call of a process.
 *
 * Return: number of bytes that were read; 0 at the end of the stream; -EAGAIN if no data have
 * arrived: then ops->data_ready or ops->state_change will be called; -EBUSY if a system call owns
 * the socket of a process: then the caller has to retry later, since perhaps no callback will be
 * called; or another -errno.
 */
int iwt_sock_recv(struct iwt_sock *s, void *buf, u32 len)
{
	struct iwt_sock_cursor cur;
	int ret = iwt_sock_own_now(s);

	if (ret)
		return ret;
	len = min(len, iwt_sock_peek(s, &cur));
	if (!len) {
		ret = why_empty(s);
	} else if (!iwt_cursor_copy(&cur.c, buf, len)) {
		ret = -EIO;
	} else {
		iwt_sock_consume(s, len);
		ret = len;
	}
	iwt_sock_disown(s);
	return ret;
}
