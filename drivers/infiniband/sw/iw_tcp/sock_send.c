// SPDX-License-Identifier: GPL-2.0
/* Octets that are handed to TCP, and how much of them it is to hold. */
#include "sock.h"

#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/if_bridge.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/uio.h>
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

/* Room in TCP's buffer that is worth a run of the engine, in octets. */
#define ROOM		(64 << 10)
/* Buffers of TCP that a batch becomes, with the one before it; more if segments are short. */
#define MARKED		4

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

/* The socket's own limits over a network card, or to a far host; else the limits above. */
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
 * rare, and is missed.
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
 * iwt_sock_writable() - is there room for another batch?
 * @s: socket, lock held
 *
 * If not, TCP will call ops->write_space.
 *
 * Return: true if so.
 */
bool iwt_sock_writable(struct iwt_sock *s)
{
	sock_owned_by_me(s->sk);
	if (sk_stream_memory_free(s->sk))
		return true;
	set_bit(SOCK_NOSPACE, &s->sk->sk_socket->flags);
	return false;
}

/**
 * iwt_sock_has_room() - is there so much room that the engine is worth a run?
 * @sk: TCP's socket, lock held
 *
 * TCP wakes its writers when a third of the buffer is free. On a long path that third would stay
 * unused whenever something else than the buffer has stopped the engine; room for a batch is
 * enough.
 *
 * Return: true if so.
 */
bool iwt_sock_has_room(const struct sock *sk)
{
	return sk_stream_wspace(sk) >= min(sk_stream_min_wspace(sk), ROOM) &&
	       __sk_stream_memory_free(sk, 1);
}

/**
 * iwt_sock_starved() - did a send fail for want of memory alone?
 * @s: socket, lock held, that has taken nothing
 *
 * With nothing under way no acknowledgment will come, and so no call of ops->write_space: the
 * caller has to try again by itself.
 *
 * Return: true if so.
 */
bool iwt_sock_starved(const struct iwt_sock *s)
{
	const struct sock *sk = s->sk;

	return tcp_rtx_and_write_queues_empty(sk) && !sk->sk_err &&
	       !(sk->sk_shutdown & SEND_SHUTDOWN);
}

/*
 * Hands @len octets of a message to TCP. An error by ICMP ends nothing, but where a process has
 * asked for such errors (IP_RECVERR) TCP would return it once instead of sending: it is
 * dropped.
 */
static int sendmsg(struct iwt_sock *s, struct msghdr *msg, u32 len)
{
	struct sock *sk = s->sk;
	int ret;

	sock_owned_by_me(s->sk);
	/* an error that ends the connection has closed it, with the lock held */
	if (unlikely(sk->sk_err) && sk->sk_state != TCP_CLOSE)
		sock_error(sk);
	ret = tcp_sendmsg_locked(sk, msg, len);
	/* the process that made the socket may have ended the sending direction */
	return ret == -EPIPE && !READ_ONCE(s->shut) ? -ECONNRESET : ret;
}

/**
 * iwt_sock_send_pages() - hand octets to TCP by reference
 * @s: socket, lock held, not in the backlog
 * @piece: pages whose octets at these places do not change any more
 * @n: how many pieces
 * @bytes: octets in them
 * @flags: MSG_MORE, MSG_EOR
 *
 * TCP takes its own references. Never sleeps.
 *
 * Return: octets taken, -EAGAIN (TCP will call ops->write_space), -EPIPE after
 * iwt_sock_shutdown(), or another -errno when the connection is lost.
 */
int iwt_sock_send_pages(struct iwt_sock *s, const struct bio_vec *piece, u32 n,
			u32 bytes, int flags)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     MSG_NO_SHARED_FRAGS | flags,
	};

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, piece, n, bytes);
	return sendmsg(s, &msg, bytes);
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
 */
void iwt_sock_batch_done(struct iwt_sock *s)
{
	struct sk_buff_head *queue = &s->sk->sk_write_queue;
	struct sk_buff *skb = skb_peek_tail(queue);
	u32 mss = iwt_sock_mss(s);
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
 * iwt_sock_send() - send a few octets by copy
 * @s: socket
 * @buf: octets
 * @len: how many
 *
 * For startup frames, which fit into any fresh send buffer. To copy them TCP would give the
 * socket 32 KB for its lifetime; a page of the driver is free again when the peer has the
 * frame. Process context; sleeps, but not for the peer.
 *
 * Return: octets taken, -ENOMEM or another -errno.
 */
int iwt_sock_send(struct iwt_sock *s, const void *buf, u32 len)
{
	struct bio_vec piece;
	struct page *page;
	int ret;

	if (WARN_ON_ONCE(len > PAGE_SIZE))
		return -EMSGSIZE;
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	memcpy(page_address(page), buf, len);
	bvec_set_page(&piece, page, len, 0);
	ret = iwt_sock_own_soon(s);
	if (!ret) {
		ret = iwt_sock_send_pages(s, &piece, 1, len, MSG_EOR);
		iwt_sock_disown(s);
	}
	put_page(page);
	return ret;
}

/**
 * iwt_sock_may_zerocopy() - may TCP refer to a consumer's memory, and does that pay?
 * @s: socket, lock held
 * @anywhere: not only where a network card will read the memory
 *
 * TCP's probe for a larger MTU is a buffer that refers to the memory without a note of it, and
 * takes the place of a buffer that has one. So the answer is no where TCP makes such probes.
 *
 * Return: true if so.
 */
bool iwt_sock_may_zerocopy(const struct iwt_sock *s, bool anywhere)
{
	const struct sock *sk = s->sk;

	if (!(sk->sk_route_caps & NETIF_F_SG) ||
	    READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_mtu_probing))
		return false;
	return anywhere || s->nic;
}

/**
 * iwt_sock_send_zerocopy() - hand octets to TCP by reference, and hear of their release
 * @s: socket, lock held, not in the backlog
 * @piece: all pieces; the caller holds references until this returns
 * @n: how many
 * @bytes: octets in them
 * @skip: octets that were sent before
 * @ubuf: called when TCP, and everybody who has buffers from TCP, has released all of them;
 *	the caller holds a reference
 *
 * A segment ends behind them. Never sleeps.
 *
 * Return: as iwt_sock_send_pages().
 */
int iwt_sock_send_zerocopy(struct iwt_sock *s, const struct bio_vec *piece, u32 n,
			   u32 bytes, u32 skip, struct ubuf_info *ubuf)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY |
			     MSG_EOR,
		.msg_ubuf = ubuf,
	};

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, piece, n, bytes);
	iov_iter_advance(&msg.msg_iter, skip);
	return sendmsg(s, &msg, bytes - skip);
}
