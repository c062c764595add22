// SPDX-License-Identifier: GPL-2.0
/* Passing data to TCP, and checking for room in its send buffer. */
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

/* Free space in TCP's send buffer, in bytes, that is sufficient for one batch. */
#define ROOM		(64 << 10)

/**
 * iwt_sock_writable() - does TCP's send buffer have room for more data?
 * @s: socket, lock held
 *
 * Return: true if so; false if not: then TCP will call ops->write_space.
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
 * iwt_sock_has_room() - does TCP's send buffer have enough room for one batch?
 * @sk: TCP's socket, lock held
 *
 * By default TCP wakes a writer only when a third of the buffer is free. But the engine may have
 * stopped before the buffer was full, for example because the device had enough data. If the
 * engine then waited until a third of the buffer is free, TCP would never use this third, and a
 * long path needs the whole buffer. So room for one batch (ROOM) is enough.
 *
 * Return: true if so.
 */
bool iwt_sock_has_room(const struct sock *sk)
{
	return sk_stream_wspace(sk) >= min(sk_stream_min_wspace(sk), ROOM) &&
	       __sk_stream_memory_free(sk, 1);
}

/**
 * iwt_sock_starved() - did a send fail only because TCP got no memory?
 * @s: socket, lock held; TCP has not accepted all data that the caller passed
 *
 * Return: true if so. Then TCP has no data in flight, so no acknowledgment will arrive, and
 * ops->write_space will not be called: the caller has to retry (iwt_sock_retry()).
 */
bool iwt_sock_starved(const struct iwt_sock *s)
{
	const struct sock *sk = s->sk;

	return tcp_rtx_and_write_queues_empty(sk) && !sk->sk_err &&
	       !(sk->sk_shutdown & SEND_SHUTDOWN);
}

/*
 * Pass @len bytes of a message to TCP. An ICMP error does not end the connection. But if a
 * process has requested reports of such errors (IP_RECVERR), TCP would return the error once
 * instead of sending: so clear the error first. Return: as iwt_sock_send_pages().
 */
static int sendmsg(struct iwt_sock *s, struct msghdr *msg, u32 len)
{
	struct sock *sk = s->sk;
	int ret;

	sock_owned_by_me(s->sk);
	/* if an error ends the connection, TCP sets sk_err and TCP_CLOSE under the same lock */
	if (unlikely(sk->sk_err) && sk->sk_state != TCP_CLOSE)
		sock_error(sk);
	ret = tcp_sendmsg_locked(sk, msg, len);
	/*
	 * TCP also returns -EPIPE if the process that created the socket has ended the sending
	 * direction
	 */
	return ret == -EPIPE && !READ_ONCE(s->shut) ? -ECONNRESET : ret;
}

/**
 * iwt_sock_send_pages() - pass data to TCP by reference
 * @s: socket, lock held, not in the backlog
 * @piece: pieces of pages; their contents must not change any more
 * @n: number of pieces
 * @bytes: number of bytes in the pieces
 * @flags: MSG_MORE, MSG_EOR
 *
 * TCP acquires its own references to the pages. Never sleeps.
 *
 * Return: number of bytes that TCP has accepted, perhaps fewer than @bytes; -EAGAIN if TCP
 * accepts nothing now: then TCP will call ops->write_space, unless iwt_sock_starved() returns
 * true; -EPIPE after iwt_sock_shutdown(); or another -errno if the connection is lost.
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
 * iwt_sock_send() - copy a short frame, and pass the copy to TCP
 * @s: socket
 * @buf: the frame
 * @len: its length in bytes, at most PAGE_SIZE
 *
 * For startup frames, which fit into any new send buffer. To copy the frame, TCP would allocate
 * 32 KB for the lifetime of the socket; the page that this function allocates is freed as soon
 * as the peer has acknowledged the frame. Process context, may sleep, but does not wait for the
 * peer.
 *
 * Return: number of bytes that TCP has accepted; -ENOMEM; an error of iwt_sock_own_soon() or
 * iwt_sock_send_pages().
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
	if (ret)
		goto out_put;
	ret = iwt_sock_send_pages(s, &piece, 1, len, MSG_EOR);
	iwt_sock_disown(s);
out_put:
	put_page(page);
	return ret;
}

/**
 * iwt_sock_may_zerocopy() - may TCP refer to a consumer's memory, and is that worthwhile?
 * @s: socket, lock held
 * @anywhere: allow zero copy even if no network card reads the memory
 *
 * Zero copy is not allowed if TCP may probe for a larger MTU. TCP then replaces an skb that has a
 * reference to the ubuf_info by a new skb. The new skb refers to the same memory, but has no
 * reference to the ubuf_info: so the callback would be called too early. A connection that has
 * begun to probe continues to probe when the administrator sets tcp_mtu_probing to 0.
 *
 * Return: true if the data are to be sent by reference.
 */
bool iwt_sock_may_zerocopy(const struct iwt_sock *s, bool anywhere)
{
	const struct sock *sk = s->sk;

	if (!(sk->sk_route_caps & NETIF_F_SG) ||
	    READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_mtu_probing) ||
	    inet_csk(sk)->icsk_mtup.enabled)
		return false;
	return anywhere || s->nic;
}

/**
 * iwt_sock_send_zerocopy() - pass data to TCP by reference, with a callback on release
 * @s: socket, lock held, not in the backlog
 * @piece: all pieces; the caller holds references to the pages until this function returns
 * @n: number of pieces
 * @bytes: number of bytes in the pieces
 * @skip: number of leading bytes that TCP has accepted in earlier calls
 * @ubuf: object of which the caller holds a reference; its callback is called when TCP, and every
 *	other holder of TCP's skbs, has released the memory
 *
 * The last segment ends with the last byte (MSG_EOR). Never sleeps.
 *
 * Return: number of bytes that TCP has accepted in this call, or an error as from
 * iwt_sock_send_pages().
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
