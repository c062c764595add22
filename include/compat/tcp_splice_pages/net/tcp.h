/* SPDX-License-Identifier: GPL-2.0 */
/* In this kernel, tcp_sendmsg_locked() does not support MSG_SPLICE_PAGES. */
#ifndef COMPAT_NET_TCP_H
#define COMPAT_NET_TCP_H

#include <linux/bvec.h>
#include <linux/minmax.h>
#include <linux/uio.h>
#include_next <net/tcp.h>

/*
 * tcp_sendpage_locked() does not support MSG_EOR, so mark the last skb of the write queue. If the
 * write queue is empty, the last skb was already sent, and TCP adds no more bytes to it.
 */
static inline void compat_tcp_end_record(struct sock *sk)
{
	struct sk_buff *skb = tcp_write_queue_tail(sk);

	if (skb)
		TCP_SKB_CB(skb)->eor = 1;
}

/* Send (the rest of) the current element of the bvec with tcp_sendpage_locked(). */
static inline int compat_tcp_splice_one(struct sock *sk, struct msghdr *msg,
					size_t size)
{
	const struct iov_iter *iter = &msg->msg_iter;
	const struct bio_vec *bv = iter->bvec;
	size_t len = min_t(size_t, bv->bv_len - iter->iov_offset, size);
	int flags = msg->msg_flags & ~MSG_SPLICE_PAGES;

	if (len < size)
		flags |= MSG_MORE | MSG_SENDPAGE_NOTLAST;
	return tcp_sendpage_locked(sk, bv->bv_page,
				   bv->bv_offset + iter->iov_offset, len, flags);
}

static inline int compat_tcp_splice_pages(struct sock *sk, struct msghdr *msg,
					  size_t size)
{
	int done = 0, ret = 0;

	while (size) {
		ret = compat_tcp_splice_one(sk, msg, size);
		if (ret <= 0)
			break;
		iov_iter_advance(&msg->msg_iter, ret);
		done += ret;
		size -= ret;
	}
	if (!size && msg->msg_flags & MSG_EOR)
		compat_tcp_end_record(sk);
	return done ? done : ret;
}

/* As tcp_sendmsg_locked() of newer kernels; MSG_SPLICE_PAGES only with a bvec iterator. */
static inline int compat_tcp_sendmsg_locked(struct sock *sk,
					    struct msghdr *msg, size_t size)
{
	if (!(msg->msg_flags & MSG_SPLICE_PAGES))
		return tcp_sendmsg_locked(sk, msg, size);
	if (WARN_ON_ONCE(!iov_iter_is_bvec(&msg->msg_iter)))
		return -EINVAL;
	return compat_tcp_splice_pages(sk, msg, size);
}

#define tcp_sendmsg_locked	compat_tcp_sendmsg_locked

#endif
