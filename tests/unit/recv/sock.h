/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stub of sock.h, sock_priv.h and the kernel's headers of sockets: what sock_recv.c uses of a
 * socket, for the build in user space.
 */
#ifndef UNIT_SOCK_H
#define UNIT_SOCK_H

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/skbuff.h>
#include <linux/types.h>

#include "kernel.h"
#include "sock_cursor.h"

typedef s64 atomic64_t;

#define likely(x)		(x)
#define unlikely(x)		(x)
#define GFP_ATOMIC		0
#define __GFP_NOWARN		0
#define kmalloc(size, gfp)	unit_alloc(size)
#define atomic64_add(n, at)	((void)(*(at) += (n)))
#define atomic64_sub(n, at)	((void)(*(at) -= (n)))
#define atomic64_read(at)	(*(at))

struct sk_buff_head {
	struct sk_buff *next, *prev;	/* the first members of struct sk_buff */
};

/* struct sock and struct tcp_sock in one */
struct sock {
	struct sk_buff_head sk_receive_queue;
	u32 copied_seq;
	u32 rcv_nxt;
	u32 window;		/* the receive window */
	struct {
		u32 rcv_mss;
	} icsk_ack;
	int sk_err;
	u8 sk_state;
	u8 sk_shutdown;
	bool done;
};

struct iwt_sock {
	struct sock *sk;
	bool blind;
	u32 readable;
	u32 retries;
	struct {
		u8 *mem;
		u32 size;
		u32 off;
		u32 len;
		bool begins;
	} aside;
};

enum { TCP_ESTABLISHED = 1, TCP_CLOSE = 7, RCV_SHUTDOWN = 1 };

/* The number of buffers that the walks over a queue have looked at */
extern u32 unit_looks;

#define skb_queue_reverse_walk(queue, skb)						\
	for (skb = (queue)->prev;							\
	     skb != (const struct sk_buff *)(queue) && ++unit_looks; skb = skb->prev)
#define after(a, b)		((s32)((b) - (a)) < 0)
#define tcp_sk(sk)		(sk)
#define tcp_inq(sk)		((sk)->rcv_nxt - (sk)->copied_seq)
#define sock_owned_by_me(sk)	((void)(sk))
#define tcp_rmem_pressure(sk)	false
#define tcp_receive_window(tp)	((tp)->window)
#define inet_csk(sk)		(sk)
#define roundup_pow_of_two(n)	(n)
#define sock_error(sk)		(-(sk)->sk_err)
#define sock_flag(sk, flag)	((sk)->done)	/* only SOCK_DONE */

/* As in the kernel, except that the kernel also removes the buffers before the result. */
struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off);
static inline void tcp_read_done(struct sock *sk, size_t len) { sk->copied_seq += len; }
static inline int iwt_sock_own_now(struct iwt_sock *s) { return s->sk ? 0 : -EINTR; }
static inline void iwt_sock_disown(struct iwt_sock *s) { (void)s; }
static inline void iwt_sock_retry(struct iwt_sock *s) { s->retries++; }

u32 iwt_sock_peek(struct iwt_sock *s, struct iwt_sock_cursor *cur);
u32 iwt_sock_peek_from(struct iwt_sock *s, u32 skip, struct iwt_sock_cursor *cur);
bool iwt_sock_blind(const struct iwt_sock *s);
bool iwt_sock_begins_segment(const struct iwt_sock *s, const struct iwt_sock_cursor *cur,
			     u32 used);
u32 iwt_sock_count_begins(const struct iwt_sock *s, const struct iwt_sock_cursor *cur,
			  u32 used, u32 stride, u32 n);
void iwt_sock_set_aside(struct iwt_sock *s);
void iwt_sock_free_aside(struct iwt_sock *s);
u64 iwt_sock_bytes_aside(void);
void iwt_sock_consume(struct iwt_sock *s, u32 len);
bool iwt_sock_at_eof(const struct iwt_sock *s);
int iwt_sock_recv(struct iwt_sock *s, void *buf, u32 len);

#endif
