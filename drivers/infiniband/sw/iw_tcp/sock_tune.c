// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of TCP that the driver writes for speed, and its timeouts, where TCP exports no
 * function that sets them. A correct stream needs none of this: a driver that is built without
 * this file (make IWT_UNTUNED=1) delivers all data, is slower, and notices later that a peer is
 * gone.
 *
 * The comment of each function names the fields, what writing them has brought (figures without
 * and with it, see Documentation/design-notes.rst), and the function that TCP would have to
 * export instead.
 *
 * Other files write fields of a socket only where the driver would not work without that:
 * callbacks, sk_user_data and sk_allocation, as all users of TCP in the kernel do (sock.c,
 * sock_takeover.c); the mark of a ULP (sock_ulp.c); who is charged (sock_owner.c); the traffic
 * class of IPv6 (sock.c); the end of a process's connection (sock_takeover.c); and the lock that
 * a process may keep for as long as it likes (sock_run.c).
 */
#include "sock.h"

#include <linux/if_bridge.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/dst.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/*
 * TCP keeps as much below it as it sends in a millisecond at its pace (2^-10 s, see
 * tcp_small_queue_check()), since network cards are late to say what they have sent. Without a
 * network card these are megabytes that wait for a receiver on the same processor: they are out
 * of its cache when their turn comes, and the buffers of tx_buf.c do not come back. An eighth of
 * that time is enough: 2^-13 s.
 */
#define NEAR_SHIFT	13
/* Octets that TCP may hold unsent without a network card, instead of what memory allows. */
#define NEAR_UNSENT	(128 << 10)

/* Buffers of TCP that a batch becomes, with the one before it; more if segments are short. */
#define MARKED		4

/*
 * The largest FPDU has 64 KB and is taken only when all of it is there, so the receive window
 * must have room for it, whatever the sender's MSS.
 */
#define RCV_MIN		(128 << 10)

/*
 * A software device with no other device below it hands buffers to a receiver on this machine,
 * which makes TCP copy them. A device with hardware has a parent.
 */
static int is_no_nic(struct net_device *dev, struct netdev_nested_priv *priv)
{
	if (!(dev->features & NETIF_F_SG) || dev->flags & IFF_LOOPBACK ||
	    netif_is_bridge_master(dev))
		return 1;
	return list_empty(&dev->adj_list.lower) && !dev->dev.parent;
}

/* A network card, or something above nothing else: a bond, a VLAN. */
static bool is_nic(struct net_device *dev)
{
	struct netdev_nested_priv priv = {};

	return !is_no_nic(dev, &priv) &&
	       !netdev_walk_all_lower_dev_rcu(dev, is_no_nic, &priv);
}

/**
 * iwt_sock_save_limits() - remember the socket's own limits
 * @s: socket, lock held, without callbacks
 *
 * For iwt_sock_drop_limits(). Writes nothing of TCP's.
 */
void iwt_sock_save_limits(struct iwt_sock *s)
{
	s->saved.pacing_shift = s->sk->sk_pacing_shift;
	s->saved.notsent_lowat = READ_ONCE(tcp_sk(s->sk)->notsent_lowat);
}

/*
 * The socket's own limits over a network card, or to a far host; else the limits above.
 *
 * Writes sk_pacing_shift, by sk_pacing_shift_update(), and notsent_lowat, for which a process has
 * TCP_NOTSENT_LOWAT, and the kernel would have to export tcp_sock_set_notsent_lowat(). RDMA
 * Writes of 64 KB 20.0 and 22.7 Gb/s, of 8 MB 17.3 and 20.1, over 1,000 queue pairs 8.8 and 13.3.
 */
static void set_limits(struct iwt_sock *s)
{
	struct tcp_sock *tp = tcp_sk(s->sk);

	sk_pacing_shift_update(s->sk, s->near ? NEAR_SHIFT : s->saved.pacing_shift);
	WRITE_ONCE(tp->notsent_lowat, s->near ? NEAR_UNSENT : s->saved.notsent_lowat);
}

/* Does the receiver seem to be on this machine? */
static bool is_near(const struct iwt_sock *s)
{
	return !s->nic && !iwt_sock_is_far(s);
}

/**
 * iwt_sock_follow_route() - adapt the limits to the route of the connection
 * @s: socket, lock held
 *
 * To be called before sending. A new route at the same address in memory as the last one is
 * rare, and is missed. Without this function ->nic and ->near stay false: TCP keeps its own
 * limits, buffers to frame in are those for a far host, and zerocopy=auto copies.
 */
void iwt_sock_follow_route(struct iwt_sock *s)
{
	const struct dst_entry *dst;
	bool new, near;

	sock_owned_by_me(s->sk);
	rcu_read_lock();
	dst = __sk_dst_get(s->sk);
	new = dst && dst != s->route;
	if (new) {
		s->route = dst;
		s->nic = is_nic(READ_ONCE(dst->dev));
	}
	rcu_read_unlock();
	near = is_near(s);
	if (s->route && (new || s->near != near)) {
		s->near = near;
		set_limits(s);
	}
}

/**
 * iwt_sock_near() - does the receiver seem to be on this machine?
 * @s: socket, lock held
 *
 * Return: true if so, as of the last iwt_sock_follow_route(); false before the first one.
 */
bool iwt_sock_near(const struct iwt_sock *s)
{
	return s->near;
}

/**
 * iwt_sock_cut_at() - tell TCP how many segments a batch has
 * @s: socket, lock held
 * @segs: of the largest batch, at least 1
 *
 * TCP sends no more of them at once, nor more than the net device takes. Could TCP send one more
 * than a batch has, it would take that from the next batch, and what is left of that one goes
 * out alone as soon as the congestion window has room for it. Where buffers are lost with all of
 * their segments, shorter buffers mean more losses. A new route sets the device's number again.
 *
 * Writes sk_gso_max_segs. The kernel would have to export a function that limits it for the life
 * of the socket, whatever the route. With 10 ms of round trip, together with the joining of
 * pieces below, a buffer has 36 to 41 segments instead of 31; with one of 2,000 buffers lost a
 * stream has 0.94 of TCP's speed instead of 0.85.
 */
void iwt_sock_cut_at(struct iwt_sock *s, u32 segs)
{
	struct sock *sk = s->sk;

	sock_owned_by_me(sk);
	if (sk->sk_gso_max_segs != s->segs)
		s->dev_segs = sk->sk_gso_max_segs;
	s->segs = min_t(u32, s->dev_segs, segs);
	if (sk->sk_gso_max_segs != s->segs)
		sk->sk_gso_max_segs = s->segs;
}

/**
 * iwt_sock_drop_limits() - give the socket its own limits back
 * @s: socket, lock held
 *
 * Writes sk_pacing_shift, notsent_lowat and sk_gso_max_segs.
 */
void iwt_sock_drop_limits(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	sk_pacing_shift_update(sk, s->saved.pacing_shift);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, s->saved.notsent_lowat);
	if (s->segs && sk->sk_gso_max_segs == s->segs)
		sk->sk_gso_max_segs = s->dev_segs;
}

/* Does @next go on in memory, within one large page, where @frag ends? */
static bool goes_on(const skb_frag_t *frag, const skb_frag_t *next)
{
	struct page *page = skb_frag_page(frag);
	u32 end = skb_frag_off(frag) + skb_frag_size(frag);

	return compound_head(page) == compound_head(skb_frag_page(next)) &&
	       page + (end >> PAGE_SHIFT) ==
	       skb_frag_page(next) + (skb_frag_off(next) >> PAGE_SHIFT) &&
	       offset_in_page(end) == offset_in_page(skb_frag_off(next));
}

/*
 * A buffer of TCP refers to a few pieces of memory (MAX_SKB_FRAGS), and newer kernels make one of
 * each PAGE_SIZE of a large page. Neighbours become one piece: TCP can then fill the buffer up
 * with segments of the next one, and a network card has less to fetch. A buffer that was not sent
 * yet is nobody else's.
 *
 * Writes the fragments of buffers in the write queue. MSG_SPLICE_PAGES would have to join
 * neighbours within a large page itself (skb_splice_from_iter()). See iwt_sock_cut_at() for
 * what it brings; it takes 0.01 instructions for a byte.
 */
static void join_pieces(struct sk_buff *skb)
{
	struct skb_shared_info *sh = skb_shinfo(skb);
	u32 i, last = 0;

	if (skb_cloned(skb) || skb_zcopy(skb) || !skb_frags_readable(skb) || !sh->nr_frags)
		return;
	for (i = 1; i < sh->nr_frags; i++) {
		if (goes_on(&sh->frags[last], &sh->frags[i])) {
			skb_frag_size_add(&sh->frags[last], skb_frag_size(&sh->frags[i]));
			put_page(skb_frag_page(&sh->frags[i]));
		} else {
			sh->frags[++last] = sh->frags[i];
		}
	}
	sh->nr_frags = last + 1;
}

/**
 * iwt_sock_batch_done() - all of a batch, which ended with MSG_EOR, is with TCP
 * @s: socket, lock held
 *
 * Nothing is added to what ends with MSG_EOR. So TCP sends any part of it that the congestion
 * window has room for, and does not wait until that is worth a buffer of many segments
 * (tcp_tso_should_defer()): each acknowledgment of two segments would send two more, from then
 * on. Once a batch is behind it, it waits as any other: the mark goes. TCP may then fill it up
 * with segments of the next one. So the mark stays where the last segment is not full, and until
 * the next batch is complete, which has a mark of its own.
 *
 * Writes eor of buffers in the write queue. TCP would have to put off buffers that end with
 * MSG_EOR as all others in tcp_tso_should_defer(). With 10 ms of round trip and one of 2,000
 * buffers lost, a stream has 0.74 of TCP's speed instead of 0.21.
 */
void iwt_sock_batch_done(struct iwt_sock *s)
{
	struct sk_buff_head *queue = &s->sk->sk_write_queue;
	struct sk_buff *skb = skb_peek_tail(queue);
	u32 mss = iwt_sock_segment(s);
	int i;

	sock_owned_by_me(s->sk);
	if (skb)
		join_pieces(skb);
	for (i = 0; i < MARKED && skb && !skb_queue_is_first(queue, skb); i++) {
		skb = skb_queue_prev(queue, skb);
		join_pieces(skb);
		if (!(skb->len % mss))
			TCP_SKB_CB(skb)->eor = 0;
	}
}

/**
 * iwt_sock_widen() - make the receive window large enough
 * @sock: socket, locked
 *
 * To raise the low-water mark makes TCP raise its buffer with it, and its autotuning goes on.
 * The mark itself goes back to one. Older kernels set the clamp of the window to what the
 * buffer holds at that moment. Before the handshake, that limits the window for the life of the
 * connection: so the clamp only goes up here.
 *
 * Writes window_clamp, for older kernels only: tcp_set_rcvlowat() of newer ones never lowers it,
 * and is all that is wanted. No figure: an FPDU that is longer than the window is set aside, and
 * copied once more (iwt_sock_set_aside()).
 */
void iwt_sock_widen(struct socket *sock)
{
	struct tcp_sock *tp = tcp_sk(sock->sk);
	u32 clamp = tp->window_clamp;

	if (!sock->ops->set_rcvlowat)
		return;
	sock->ops->set_rcvlowat(sock->sk, RCV_MIN);
	sock->ops->set_rcvlowat(sock->sk, 1);
	/* 0: there is no clamp yet */
	if (!clamp || clamp > tp->window_clamp)
		WRITE_ONCE(tp->window_clamp, clamp);
}

/**
 * iwt_sock_await() - say how many octets make another look worthwhile
 * @s: socket, lock held
 * @len: octets, counted from the first that is not consumed; 1: any
 *
 * Until they are there ops->data_ready is called only when TCP runs short of memory or window
 * (see iwt_sock_set_aside()), and ops->state_change when the stream ends.
 *
 * TCP delays the acknowledgment of octets that are not read, and the sender may wait for it
 * before it sends the rest. Below this mark TCP does not delay it.
 *
 * Writes sk_rcvlowat. What sets SO_RCVLOWAT changes the buffer as well, and calls ->data_ready
 * (tcp_set_rcvlowat()): the kernel lacks a function that does neither. With FPDUs of 32 KiB, 1 %
 * of the segments lost and 10 ms of round trip a stream is two to four times as fast.
 */
void iwt_sock_await(struct iwt_sock *s, u32 len)
{
	len = len > s->aside.len ? len - s->aside.len : 1;
	if (s->sk->sk_rcvlowat != len)
		WRITE_ONCE(s->sk->sk_rcvlowat, len);
}

/**
 * iwt_sock_unbind() - let TCP choose the sizes of the buffers of a process's socket again
 * @sk: socket, lock held
 *
 * The process set SO_SNDBUF and SO_RCVBUF for its own reading and writing.
 *
 * Writes sk_userlocks. The kernel would have to export what SO_BUF_LOCK does, for a caller that
 * has the lock of the socket. No figure: with a buffer below an FPDU each one is set aside.
 */
void iwt_sock_unbind(struct sock *sk)
{
	sk->sk_userlocks &= ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
}

/**
 * iwt_sock_undelay() - segments of a process's socket that are not full go out at once
 * @sk: socket, lock held
 *
 * Writes nonagle. tcp_sock_set_nodelay() takes the lock of the socket, and the kernel would have
 * to export __tcp_sock_set_nodelay(). No figure: without it a request that fills no segment waits
 * until the peer has acknowledged the last one, or 200 ms if the process had set TCP_CORK.
 */
void iwt_sock_undelay(struct sock *sk)
{
	tcp_sk(sk)->nonagle &= ~TCP_NAGLE_CORK;
	tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF | TCP_NAGLE_PUSH;
}

/**
 * iwt_sock_put_keepalive() - how an idle peer is asked whether it is there
 * @sk: socket that the caller owns; its timer takes these when it is started anew
 * @idle: seconds until the first question
 * @between: seconds between questions
 * @probes: questions without an answer that end the connection
 *
 * Writes keepalive_time, keepalive_intvl and keepalive_probes. The kernel would have to export
 * tcp_sock_set_keepidle_locked(); the functions for the other two take no lock since 6.6. Without
 * this the settings of the namespace count: an idle peer that is gone is noticed after hours.
 */
void iwt_sock_put_keepalive(struct sock *sk, u32 idle, u32 between, u32 probes)
{
	struct tcp_sock *tp = tcp_sk(sk);

	WRITE_ONCE(tp->keepalive_time, idle * HZ);
	WRITE_ONCE(tp->keepalive_intvl, between * HZ);
	WRITE_ONCE(tp->keepalive_probes, probes);
}

/**
 * iwt_sock_put_user_timeout() - after how long TCP gives up
 * @sk: socket; the caller need not hold its lock
 * @ms: milliseconds without an acknowledgment, or with a closed window
 *
 * Writes icsk_user_timeout. tcp_sock_set_user_timeout() does the same, and takes no lock since
 * 6.6. Without this TCP gives up by net.ipv4.tcp_retries2, after a quarter of an hour.
 */
void iwt_sock_put_user_timeout(struct sock *sk, u32 ms)
{
	WRITE_ONCE(inet_csk(sk)->icsk_user_timeout, ms);
}
