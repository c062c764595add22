// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of TCP that the driver writes for speed and for timeouts, because TCP exports no
 * function that sets them. A correct stream does not need these writes: a driver that is built
 * without this file (make IWT_WITHOUT=TUNE) delivers all data, but is slower, and detects a dead
 * peer later.
 *
 * The comment of each function that writes such a field names the field, the function that the
 * kernel would have to export instead, and the gain: a measured figure, or what happens without
 * the write. (iwt_sock_drop_limits() only restores the former values of fields.) If a comment
 * says that a figure rises, the first value was measured without the write, the second with the
 * write (Documentation/design-notes.rst).
 *
 * Other files write fields of a socket only where the driver would not work otherwise: callbacks,
 * sk_user_data and sk_allocation, as all users of TCP in the kernel do (sock.c,
 * sock_takeover.c); the ULP (sock_ulp.c); the user and the memory control group (sock_owner.c);
 * the traffic class of IPv6 (sock.c); the shutdown state (sock.c, sock_takeover.c); flags of
 * socket options (sock.c, sock_alive.c, sock_takeover.c); the operations of a process's socket
 * (sock_takeover.c); and the owner of the socket lock, for a lock_sock() with a timeout
 * (sock_run.c).
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

#include <compat/rcvlowat.h>
#include <compat/user_timeout.h>

#include "sock_priv.h"

/*
 * TCP lets the layers below TCP queue as many bytes as TCP sends in a millisecond at its pacing
 * rate (2^-10 s, tcp_small_queue_check()), since network cards report completed sends late. If
 * the receiver is on this machine, megabytes would wait for it: these bytes would be evicted from
 * the cache before the receiver reads them, and TCP would not release the buffers of tx_buf.c in
 * time for reuse. As many bytes as TCP sends in an eighth of a millisecond (2^-13 s) are enough.
 */
#define NEAR_SHIFT	13
/*
 * Maximum number of unsent bytes in TCP if the receiver is on this machine; by default, TCP has
 * no such limit.
 */
#define NEAR_UNSENT	(128 << 10)

/*
 * Maximum number of MSG_EOR marks that one call of iwt_sock_batch_done() clears. A batch of short
 * segments may have more skbs; the other skbs keep their marks.
 */
#define MARKED		4

/*
 * Low-water mark, in bytes, that makes TCP enlarge its receive buffer. The largest FPDU has about
 * 64 KiB, and the engine consumes an FPDU only when the FPDU is complete. So the receive window
 * must have room for the largest FPDU, for any MSS of the sender.
 */
#define RCV_MIN		(128 << 10)

/*
 * Return: 1 if @dev is not suitable for zero copy, else 0; netdev_walk_all_lower_dev_rcu()
 * requires these values. A software device that has no other device below it passes skbs to a
 * receiver on this machine, and then the kernel copies the payload. A hardware device has a
 * parent device.
 */
static int is_no_nic(struct net_device *dev, struct netdev_nested_priv *priv)
{
	if (!(dev->features & NETIF_F_SG) || dev->flags & IFF_LOOPBACK ||
	    netif_is_bridge_master(dev))
		return 1;
	return list_empty(&dev->adj_list.lower) && !dev->dev.parent;
}

/* Is @dev a network card, or a device (bond, VLAN) that has only network cards below it? */
static bool is_nic(struct net_device *dev)
{
	struct netdev_nested_priv priv = {};

	return !is_no_nic(dev, &priv) &&
	       !netdev_walk_all_lower_dev_rcu(dev, is_no_nic, &priv);
}

/**
 * iwt_sock_save_limits() - save the socket's own limits
 * @s: socket, lock held; the callbacks are not installed yet
 *
 * iwt_sock_drop_limits() restores the saved limits. This function writes no field of TCP.
 */
void iwt_sock_save_limits(struct iwt_sock *s)
{
	s->saved.pacing_shift = s->sk->sk_pacing_shift;
	s->saved.notsent_lowat = READ_ONCE(tcp_sk(s->sk)->notsent_lowat);
}

/*
 * Set the limits NEAR_SHIFT and NEAR_UNSENT if the receiver is on this machine (s->near);
 * otherwise restore the socket's own limits.
 *
 * Writes sk_pacing_shift, by sk_pacing_shift_update(), and notsent_lowat. A process sets
 * notsent_lowat by TCP_NOTSENT_LOWAT; for modules the kernel would have to export
 * tcp_sock_set_notsent_lowat(). The speed of RDMA Writes rises from 20.0 to 22.7 Gb/s (64 KB),
 * from 17.3 to 20.1 Gb/s (8 MB), and from 8.8 to 13.3 Gb/s (over 1,000 queue pairs).
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
 * The caller calls this function before it sends. In a rare case this function does not detect a
 * new route: when the struct dst_entry of the new route is at the same address in memory as the
 * struct dst_entry of the last route was. Without this function ->nic and ->near stay false: TCP
 * keeps its own limits, the engine uses the frame buffers for a far host, and zerocopy=auto
 * copies.
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
 * Return: what the last iwt_sock_follow_route() has found; false before its first call.
 */
bool iwt_sock_near(const struct iwt_sock *s)
{
	return s->near;
}

/**
 * iwt_sock_cut_at() - let an skb of TCP have at most as many segments as a batch
 * @s: socket, lock held
 * @segs: number of segments of the largest batch, at least 1
 *
 * The limit of the net device still applies. If TCP could send one segment more than a batch has,
 * TCP would take this segment from the next batch. Then TCP would send the rest of the next batch
 * in a shorter skb, as soon as the congestion window has room for the rest. If a network loses a
 * fixed share of the skbs, each as a whole, shorter skbs mean more losses. A new route sets the
 * limit of the device again.
 *
 * Writes sk_gso_max_segs. The kernel would have to export a function that limits this field for
 * the lifetime of the socket, on all routes. With a round trip time of 10 ms, and together with
 * join_pieces(), the number of segments of an skb rises from 31 to between 36 and 41. If one of
 * 2,000 skbs is lost, the speed of a stream, relative to TCP alone, rises from 0.85 to 0.94.
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
 * iwt_sock_drop_limits() - restore the socket's own limits
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

/* Does @next begin in memory where @frag ends, within the same compound page? */
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
 * Join adjacent fragments of an skb. An skb has at most MAX_SKB_FRAGS fragments, and TCP may
 * create one fragment for each PAGE_SIZE of a large page. With fewer fragments TCP can append
 * segments of the next skb, and a network card has fewer pieces to fetch. An skb that was not
 * sent yet has no other user.
 *
 * Writes the fragments of skbs in the write queue. MSG_SPLICE_PAGES would have to join adjacent
 * fragments within a large page itself (skb_splice_from_iter()). See iwt_sock_cut_at() for the
 * gain; the cost is 0.01 instructions for each byte.
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
 * iwt_sock_batch_done() - clear MSG_EOR marks after TCP has accepted a whole batch
 * @s: socket, lock held
 *
 * A batch ends with MSG_EOR, which marks an skb. TCP appends no data to a marked skb. But TCP
 * also sends any part of a marked skb for which the congestion window has room, without waiting
 * until TCP can send many segments together (tcp_tso_should_defer()). From then on each
 * acknowledgment of two segments would make TCP send two more segments. So when the next batch is
 * complete, this function clears the mark of the former batch: then TCP treats the skb like any
 * other, and may also append segments of the next batch. The mark stays if the last segment of
 * the skb is not full.
 *
 * Writes eor of skbs in the write queue. In tcp_tso_should_defer(), TCP would have to treat skbs
 * that end with MSG_EOR like all others. With a round trip time of 10 ms, and if one of 2,000
 * skbs is lost, the speed of a stream, relative to TCP alone, rises from 0.21 to 0.74.
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
 * iwt_sock_widen() - make the receive window large enough for the largest FPDU
 * @sock: socket, locked
 *
 * This function raises the low-water mark (SO_RCVLOWAT), so that TCP enlarges its receive buffer
 * but keeps autotuning, and then sets the mark back to 1.
 *
 * Writes no field itself: set_rcvlowat() is sufficient. The gain was not measured: without this
 * function, an FPDU that is longer than the window is set aside, and so copied once more
 * (iwt_sock_set_aside()).
 */
void iwt_sock_widen(struct socket *sock)
{
	if (!sock->ops->set_rcvlowat)
		return;
	compat_set_rcvlowat(sock, RCV_MIN);
	compat_set_rcvlowat(sock, 1);
}

/**
 * iwt_sock_await() - set how many received bytes make TCP call ops->data_ready
 * @s: socket, lock held
 * @len: number of bytes, counted from the first byte that was not consumed; 1: any number of
 *	bytes
 *
 * Until @len bytes have arrived, TCP calls ops->data_ready only when TCP runs short of memory or
 * window (iwt_sock_set_aside()), and ops->state_change when the stream ends.
 *
 * TCP delays the acknowledgment of data that were not read, and the sender may wait for this
 * acknowledgment before it sends the rest. Until @len bytes have arrived, TCP does not delay the
 * acknowledgment.
 *
 * Writes sk_rcvlowat. The function that implements SO_RCVLOWAT, tcp_set_rcvlowat(), also
 * changes the size of the buffer and calls ->data_ready; the kernel lacks a function that only
 * sets the field. With FPDUs of 32 KiB, a round trip time of 10 ms, and a loss of 1 % of the
 * segments, a stream is two to four times as fast.
 */
void iwt_sock_await(struct iwt_sock *s, u32 len)
{
	len = len > s->aside.len ? len - s->aside.len : 1;
	if (s->sk->sk_rcvlowat != len)
		WRITE_ONCE(s->sk->sk_rcvlowat, len);
}

/**
 * iwt_sock_unbind() - make TCP choose the sizes of the buffers of a process's socket again
 * @sk: socket, lock held
 *
 * The process may have set SO_SNDBUF or SO_RCVBUF, but has chosen the sizes for its own sending
 * and receiving.
 *
 * Writes sk_userlocks. The kernel would have to export a function that does the same as
 * SO_BUF_LOCK, for a caller that holds the lock of the socket. The gain was not measured: with a
 * receive buffer smaller than an FPDU, each FPDU is set aside.
 */
void iwt_sock_unbind(struct sock *sk)
{
	sk->sk_userlocks &= ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
}

/**
 * iwt_sock_undelay() - make TCP send segments of a process's socket at once, even if not full
 * @sk: socket, lock held
 *
 * Writes nonagle. tcp_sock_set_nodelay() acquires the lock of the socket; the kernel would have
 * to export __tcp_sock_set_nodelay(). The gain was not measured: without this function, a request
 * that does not fill a segment waits until the peer has acknowledged the last segment, or 200 ms
 * if the process had set TCP_CORK.
 */
void iwt_sock_undelay(struct sock *sk)
{
	tcp_sk(sk)->nonagle &= ~TCP_NAGLE_CORK;
	tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF | TCP_NAGLE_PUSH;
}

/**
 * iwt_sock_put_keepalive() - set how TCP probes an idle peer
 * @sk: socket that the caller owns; the values apply when the caller restarts the keepalive timer
 * @idle: seconds until the first probe; if this or one of the next two values is 0, TCP uses the
 *	setting of the namespace instead
 * @between: seconds between probes
 * @probes: number of unanswered probes after which TCP ends the connection
 *
 * Writes keepalive_time, keepalive_intvl and keepalive_probes. The kernel would have to export
 * tcp_sock_set_keepidle_locked(); this function, tcp_sock_set_keepintvl() and
 * tcp_sock_set_keepcnt() would have to accept 0. Without iwt_sock_put_keepalive() the settings of
 * the namespace apply: TCP detects a dead idle peer after hours.
 */
void iwt_sock_put_keepalive(struct sock *sk, u32 idle, u32 between, u32 probes)
{
	struct tcp_sock *tp = tcp_sk(sk);

	WRITE_ONCE(tp->keepalive_time, idle * HZ);
	WRITE_ONCE(tp->keepalive_intvl, between * HZ);
	WRITE_ONCE(tp->keepalive_probes, probes);
}

/**
 * iwt_sock_put_user_timeout() - set the time after which TCP ends a connection to a silent peer
 * @sk: socket; the caller need not hold its lock
 * @ms: time, in milliseconds, for which the peer acknowledges nothing or keeps its window closed
 *
 * Writes no field itself: tcp_sock_set_user_timeout() is sufficient. Without this function
 * net.ipv4.tcp_retries2 applies: TCP ends the connection after a quarter of an hour.
 */
void iwt_sock_put_user_timeout(struct sock *sk, u32 ms)
{
	compat_set_user_timeout(sk, ms);
}
