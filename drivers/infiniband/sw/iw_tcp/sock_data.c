// SPDX-License-Identifier: GPL-2.0
/* The state of a socket, and octets in and out of it. */
#include "sock.h"

#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/*
 * The largest FPDU is 64 KB and is looked at only when it is there whole, so
 * the receive window must be able to hold it, whatever the sender's MSS.
 */
#define IWT_SOCK_RCV_MIN	(128 << 10)

/**
 * iwt_sock_state() - where the connection stands
 * @s: socket
 */
enum iwt_sock_state iwt_sock_state(const struct iwt_sock *s)
{
	switch (READ_ONCE(s->sk->sk_state)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return IWT_SOCK_CONNECTING;
	case TCP_ESTABLISHED:
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
		return IWT_SOCK_OPEN;
	case TCP_CLOSE_WAIT:
		return IWT_SOCK_PEER_CLOSED;
	default:
		return IWT_SOCK_CLOSED;
	}
}

/**
 * iwt_sock_error() - why the connection failed
 * @s: socket
 *
 * Return: -errno or 0.
 */
int iwt_sock_error(const struct iwt_sock *s)
{
	return -READ_ONCE(s->sk->sk_err);
}

/**
 * iwt_sock_acked() - how far the peer has acknowledged what was sent, FIN included
 * @s: socket that is or was connected
 *
 * Any context; TCP may go on meanwhile. Return: a sequence number.
 */
u32 iwt_sock_acked(const struct iwt_sock *s)
{
	return READ_ONCE(tcp_sk(s->sk)->snd_una);
}

static void put_name4(struct sockaddr_storage *a, __be32 addr, __be16 port)
{
	*(struct sockaddr_in *)a = (struct sockaddr_in) {
		.sin_family		= AF_INET,
		.sin_port		= port,
		.sin_addr.s_addr	= addr,
	};
}

#if IS_ENABLED(CONFIG_IPV6)
static void put_name6(struct sockaddr_storage *a, const struct in6_addr *addr,
		      __be16 port, int ifindex)
{
	*(struct sockaddr_in6 *)a = (struct sockaddr_in6) {
		.sin6_family	= AF_INET6,
		.sin6_port	= port,
		.sin6_addr	= *addr,
		.sin6_scope_id	= ipv6_iface_scope_id(addr, ifindex),
	};
}
#endif

/**
 * iwt_sock_local() - address of our end
 * @sk: connected socket, locked
 * @a: takes the address
 *
 * As TCP has it: what a program of BPF makes processes see does not count. Any context.
 */
void iwt_sock_local(struct sock *sk, struct sockaddr_storage *a)
{
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		put_name6(a, &sk->sk_v6_rcv_saddr, inet->inet_sport,
			  sk->sk_bound_dev_if);
		return;
	}
#endif
	put_name4(a, inet->inet_rcv_saddr, inet->inet_sport);
}

static void put_remote(struct sock *sk, struct sockaddr_storage *a)
{
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		put_name6(a, &sk->sk_v6_daddr, inet->inet_dport,
			  sk->sk_bound_dev_if);
		return;
	}
#endif
	put_name4(a, inet->inet_daddr, inet->inet_dport);
}

/**
 * iwt_sock_names() - addresses of both ends
 * @s: socket
 * @local: takes ours
 * @remote: takes the peer's
 *
 * May sleep. Return: 0, -ENOTCONN, or see iwt_sock_own_soon().
 */
int iwt_sock_names(struct iwt_sock *s, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote)
{
	struct sock *sk = s->sk;
	int err = iwt_sock_own_soon(s);

	if (err)
		return err;
	if (!inet_sk(sk)->inet_dport || sk->sk_state == TCP_CLOSE ||
	    sk->sk_state == TCP_SYN_SENT) {
		err = -ENOTCONN;
	} else {
		iwt_sock_local(sk, local);
		put_remote(sk, remote);
	}
	iwt_sock_disown(s);
	return err;
}

/**
 * iwt_sock_widen() - make the receive window large enough
 * @sock: socket, locked
 *
 * Raising the low-water mark makes TCP raise its buffer with it, without ending its
 * autotuning; the mark itself goes to one. Older kernels set the clamp of the window to
 * what the buffer holds then, which before the handshake decides for the connection's
 * life how large the window can be told to be: so the clamp only goes up here.
 */
void iwt_sock_widen(struct socket *sock)
{
	struct tcp_sock *tp = tcp_sk(sock->sk);
	u32 clamp = tp->window_clamp;

	if (!sock->ops->set_rcvlowat)
		return;
	sock->ops->set_rcvlowat(sock->sk, IWT_SOCK_RCV_MIN);
	sock->ops->set_rcvlowat(sock->sk, 1);
	/* 0: none yet */
	if (!clamp || clamp > tp->window_clamp)
		WRITE_ONCE(tp->window_clamp, clamp);
}

/*
 * There is nothing to be read: what does a reader get? An error of a connection that lives
 * is of ICMP, and ends nothing.
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
 * iwt_sock_recv() - read what has arrived
 * @s: socket
 * @buf: takes the octets
 * @len: room
 *
 * For startup frames. Process context, does not wait for the peer. Return: octets, 0 at the
 * end of the stream, -EAGAIN or another -errno.
 */
int iwt_sock_recv(struct iwt_sock *s, void *buf, u32 len)
{
	struct iwt_sock_cursor cur;
	int ret;

	if (iwt_sock_own_soon(s))
		return -EAGAIN;
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

/**
 * iwt_sock_in_backlog() - does a process own the socket?
 * @s: socket, lock held
 *
 * If so nothing may be sent: TCP might then process more of the backlog, and
 * with it sleep.
 */
bool iwt_sock_in_backlog(const struct iwt_sock *s)
{
	return sock_owned_by_user(s->sk);
}

/**
 * iwt_sock_writable() - is there room for another batch?
 * @s: socket, lock held
 *
 * When not, ops->write_space will be called.
 */
bool iwt_sock_writable(struct iwt_sock *s)
{
	if (sk_stream_memory_free(s->sk))
		return true;
	set_bit(SOCK_NOSPACE, &s->sk->sk_socket->flags);
	return false;
}

/**
 * iwt_sock_starved() - did a send fail for want of memory alone?
 * @s: socket, lock held, that has taken nothing
 *
 * With nothing on its way there is nothing to be acknowledged, so that nobody
 * would call ops->write_space: the caller has to try again by itself.
 */
bool iwt_sock_starved(const struct iwt_sock *s)
{
	const struct sock *sk = s->sk;

	return tcp_rtx_and_write_queues_empty(sk) && !sk->sk_err &&
	       !(sk->sk_shutdown & SEND_SHUTDOWN);
}

/**
 * iwt_sock_mss() - octets of a full segment: the EMSS of RFC 5044
 * @s: socket, lock held
 */
u32 iwt_sock_mss(const struct iwt_sock *s)
{
	return tcp_sk(s->sk)->mss_cache;
}

/**
 * iwt_sock_sendmsg() - hand a message to TCP
 * @s: socket, lock held, not in the backlog
 * @msg: message
 * @len: its octets
 *
 * An error that ends nothing, of ICMP where a process has asked for these (IP_RECVERR),
 * would come once instead of sending; there is nobody to tell. Never sleeps with
 * MSG_DONTWAIT. Return: octets taken, -EAGAIN (write_space will tell), -EPIPE behind
 * iwt_sock_shutdown(), or another -errno when the connection is lost.
 */
int iwt_sock_sendmsg(struct iwt_sock *s, struct msghdr *msg, u32 len)
{
	struct sock *sk = s->sk;
	int ret;

	/* what ends it has closed it, with the lock held */
	if (unlikely(sk->sk_err) && sk->sk_state != TCP_CLOSE)
		sock_error(sk);
	ret = tcp_sendmsg_locked(sk, msg, len);
	/* a process whose socket it was may have ended our direction */
	return ret == -EPIPE && !READ_ONCE(s->shut) ? -ECONNRESET : ret;
}

/**
 * iwt_sock_send_page() - hand octets to TCP by reference
 * @s: socket, lock held, not in the backlog
 * @page: page that nobody writes to any more at this place
 * @off: offset
 * @len: octets
 * @flags: MSG_MORE, MSG_EOR
 *
 * TCP takes its own references. Never sleeps. Return: octets taken, -EAGAIN
 * (write_space will tell), or another -errno when the connection is lost.
 */
int iwt_sock_send_page(struct iwt_sock *s, struct page *page, u32 off, u32 len,
		       int flags)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     MSG_NO_SHARED_FRAGS | flags,
	};
	struct bio_vec v;

	bvec_set_page(&v, page, len, off);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &v, 1, len);
	return iwt_sock_sendmsg(s, &msg, len);
}

/**
 * iwt_sock_send() - send a few octets by copy
 * @s: socket
 * @buf: octets
 * @len: how many
 *
 * For startup frames, which fit into any fresh send buffer. To copy them TCP
 * would give the socket 32 KB, for as long as it lives; a page of our own is
 * free again when the peer has the frame. Process context, may sleep, but not
 * for the peer. Return: octets taken, -ENOMEM or another -errno.
 */
int iwt_sock_send(struct iwt_sock *s, const void *buf, u32 len)
{
	struct page *page;
	int ret;

	if (WARN_ON_ONCE(len > PAGE_SIZE))
		return -EMSGSIZE;
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	memcpy(page_address(page), buf, len);
	ret = iwt_sock_own_soon(s);
	if (!ret) {
		ret = iwt_sock_send_page(s, page, 0, len, MSG_EOR);
		iwt_sock_disown(s);
	}
	put_page(page);
	return ret;
}

/*
 * Payload in device memory can't be read by the CPU. Only what has come since
 * the last look is looked at; TCP does not merge what can be read with what
 * can't.
 */
static bool all_readable(struct iwt_sock *s)
{
	struct sk_buff *skb;

	skb_queue_reverse_walk(&s->sk->sk_receive_queue, skb) {
		if (!after(TCP_SKB_CB(skb)->end_seq, s->readable))
			break;
		if (!skb_frags_readable(skb)) {
			s->blind = true;
			return false;
		}
	}
	s->readable = tcp_sk(s->sk)->rcv_nxt;
	return true;
}

/**
 * iwt_sock_peek() - look at what has arrived
 * @s: socket, lock held
 * @cur: takes a cursor at the first octet not consumed
 *
 * The cursor is good until iwt_sock_consume(). Return: octets there.
 */
u32 iwt_sock_peek(struct iwt_sock *s, struct iwt_sock_cursor *cur)
{
	struct sock *sk = s->sk;
	struct sk_buff *skb;
	u32 off;

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
 * iwt_sock_blind() - has something come that the CPU can't read?
 * @s: socket, lock held
 *
 * Nothing more can be had of the stream then.
 */
bool iwt_sock_blind(const struct iwt_sock *s)
{
	return s->blind;
}

/**
 * iwt_sock_begins_segment() - is a place in the stream a segment's first octet?
 * @s: socket, lock held
 * @cur: cursor at the place; there are octets behind it
 * @used: octets from the one where iwt_sock_peek() put the cursor to the place
 *
 * As far as can still be seen: the stack may have joined what arrived together.
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
 * iwt_sock_segs() - how many segments have come and gone?
 * @s: socket
 *
 * Any context. Return: counts modulo 2^32.
 */
struct iwt_sock_segs iwt_sock_segs(const struct iwt_sock *s)
{
	const struct tcp_sock *tp = tcp_sk(s->sk);

	return (struct iwt_sock_segs) {
		.in = tp->data_segs_in,
		.out = tp->data_segs_out,
	};
}

/**
 * iwt_sock_consume() - octets have been dealt with
 * @s: socket, lock held
 * @len: octets
 */
void iwt_sock_consume(struct iwt_sock *s, u32 len)
{
	u32 aside = min(len, s->aside.len);

	if (unlikely(aside))
		iwt_sock_drop_aside(s, aside);
	if (len > aside)
		tcp_read_done(s->sk, len - aside);
}

/**
 * iwt_sock_await() - how many octets make another look worthwhile?
 * @s: socket, lock held
 * @len: octets, counted from the first that is not consumed; 1: any
 *
 * Until they are there ops->data_ready is called only when TCP runs short of
 * memory or window (see iwt_sock_set_aside()), and ops->state_change when the stream
 * ends. TCP delays the acknowledgment of what its reader leaves where it is, which a
 * sender may wait for who has the rest; not so below this mark.
 */
void iwt_sock_await(struct iwt_sock *s, u32 len)
{
	len = len > s->aside.len ? len - s->aside.len : 1;
	if (s->sk->sk_rcvlowat != len)
		WRITE_ONCE(s->sk->sk_rcvlowat, len);
}

/**
 * iwt_sock_at_eof() - has the peer's FIN come, behind what is queued?
 * @s: socket, lock held
 *
 * Not so when the connection was reset, which ends both directions without one.
 * sk_err does not tell: it may be of ICMP, which ends nothing, or be read and with
 * that cleared by a process.
 */
bool iwt_sock_at_eof(const struct iwt_sock *s)
{
	return sock_flag(s->sk, SOCK_DONE);
}
