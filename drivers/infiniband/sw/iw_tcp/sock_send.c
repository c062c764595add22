// SPDX-License-Identifier: GPL-2.0
/* Octets that are handed to TCP, and whether it has room for them. */
#include "sock.h"

#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/* Room in TCP's buffer that is worth a run of the engine, in octets. */
#define ROOM		(64 << 10)

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
