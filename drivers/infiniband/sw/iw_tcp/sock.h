/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The TCP socket below a connection. Only sock*.c access struct sock; all other files use
 * struct iwt_sock.
 *
 *	sock.c		creating and releasing a socket, its callbacks
 *	sock_bind.c	the local address and port
 *	sock_takeover.c	a socket that a process created, and passes to a queue pair
 *	sock_ulp.c	TCP's ULP that marks a socket as used by this driver
 *	sock_owner.c	the owner of a socket: its user and memory control group; and the rights
 *			of a task that requests information by netlink
 *	sock_run.c	the socket lock, and when the engines run
 *	sock_recv.c	reading received data
 *	sock_cursor.c	walking over received data
 *	sock_ahead.c	reading data that have arrived behind a gap
 *	sock_send.c	sending data
 *	sock_state.c	state, error, addresses, numbers of segments
 *	sock_alive.c	timeouts for a silent peer
 *	sock_tune.c	TCP's own fields, written for speed, and for timeouts
 *
 * Locking: "the socket lock" is TCP's lock. Callbacks run with the socket lock held. If no task
 * owns the socket when a segment arrives, TCP runs the callback in softirq. If a task owns the
 * socket, TCP runs the callback in that task's release_sock(); this case is called the backlog.
 * In the backlog iwt_sock_in_backlog() returns true, and a callback must not send. No callback
 * may sleep.
 */
#ifndef IWT_SOCK_H
#define IWT_SOCK_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mm_types.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/uidgid.h>

#include "sock_cursor.h"

struct bio_vec;
struct cgroup;
struct iwt_sock;
struct mem_cgroup;
struct net;
struct sk_buff;
struct ubuf_info;

enum iwt_sock_state {
	IWT_SOCK_CONNECTING,
	IWT_SOCK_OPEN,
	IWT_SOCK_PEER_CLOSED,	/* the peer's FIN was received; this end can still send */
	IWT_SOCK_CLOSED,	/* both directions have ended, by FINs, a reset or an error */
};

/**
 * struct iwt_sock_ops - callbacks of a socket
 * @data_ready: data, a FIN or, on a listener, a connection has arrived
 * @write_space: the send buffer has room again, after iwt_sock_writable() returned false or TCP
 *	accepted only a part of the data
 * @state_change: iwt_sock_state() may return a new value
 * @ahead: bytes have arrived behind a gap (sock_ahead.c)
 * @run: run the engines; called by sock_run.c, never while a task owns the socket
 *
 * Callbacks are called with the spinlock of the socket held and bottom halves off, or by the task
 * that owns the socket: in the backlog; for @state_change, in iwt_sock_shutdown(); or in a system
 * call of a process on its own socket, for example setsockopt(2) or shutdown(2). The callbacks of
 * a listener may be called without the lock of the listener. A member may be NULL.
 */
struct iwt_sock_ops {
	void (*data_ready)(struct iwt_sock *s, void *ctx);
	void (*write_space)(struct iwt_sock *s, void *ctx);
	void (*state_change)(struct iwt_sock *s, void *ctx);
	void (*run)(struct iwt_sock *s, void *ctx);
	void (*ahead)(struct iwt_sock *s, void *ctx);
};

/**
 * struct iwt_sock_owner - owner of a socket
 * @memcg: memory control group that is charged for TCP's memory, or NULL
 * @cgroup: control group whose BPF programs apply to the socket, or NULL; from
 *	iwt_sock_get_cgroup()
 * @uid: user that ss(8) shows
 */
struct iwt_sock_owner {
	struct mem_cgroup *memcg;
	struct cgroup *cgroup;
	kuid_t uid;
};

/**
 * struct iwt_sock_addr - addresses and options of a socket
 * @local: local address
 * @remote: the peer's address
 * @owner: owner of the socket; NULL: the calling task
 * @ifindex: the only interface that the socket uses, or a VRF, whose interfaces the socket uses;
 *	0: any interface
 * @tos: type of service; valid only with @tos_set
 * @tos_set: the caller has requested @tos
 * @v6only: a listener on IPv6 accepts no IPv4 connections
 * @late: the local port is determined when TCP connects, not when the socket is bound; the port
 *	in @local is 0
 * @late_port: if @late: the local port, in host byte order; 0: TCP chooses a port
 */
struct iwt_sock_addr {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	const struct iwt_sock_owner *owner;
	int ifindex;
	u8 tos;
	bool tos_set;
	bool v6only;
	bool late;
	u16 late_port;
};

/* Numbers of segments with data. As in TCP's own counters, retransmitted segments count, too. */
struct iwt_sock_segs {
	u32 in;
	u32 out;
};

int iwt_sock_init(void);
void iwt_sock_exit(void);

/* sock.c: process context, may sleep */
int iwt_sock_connect(struct net *net, const struct iwt_sock_addr *addr,
		     const struct iwt_sock_ops *ops, void *ctx,
		     struct iwt_sock **out);
int iwt_sock_listen(struct net *net, const struct iwt_sock_addr *addr,
		    int backlog, const struct iwt_sock_ops *ops, void *ctx,
		    struct iwt_sock **out);
int iwt_sock_accept(struct iwt_sock *listener, const struct iwt_sock_ops *ops,
		    void *ctx, struct iwt_sock **out);
void iwt_sock_set_ops(struct iwt_sock *s, const struct iwt_sock_ops *ops,
		      void *ctx);
void iwt_sock_set_tos(struct iwt_sock *s, u8 tos);
void iwt_sock_shutdown(struct iwt_sock *s);
void iwt_sock_release(struct iwt_sock *s, bool abort);

/*
 * sock_alive.c: iwt_sock_set_timeouts() and iwt_sock_ask_early() may sleep; iwt_sock_unanswered()
 * is for any context
 */
void iwt_sock_set_timeouts(struct iwt_sock *s, u32 keepidle, u32 user_timeout);
void iwt_sock_ask_early(struct iwt_sock *s);
/* Does the peer seem not to answer? */
bool iwt_sock_unanswered(const struct iwt_sock *s);

/* sock_owner.c: process context; iwt_sock_set_owner() may sleep */
/* Return: true if the owner is set; false if the peer has sent more data. */
bool iwt_sock_set_owner(struct iwt_sock *s, const struct iwt_sock_owner *owner);
struct cgroup *iwt_sock_get_cgroup(void);
void iwt_sock_put_cgroup(struct cgroup *cgroup);
const struct net *iwt_sock_asker_net(const struct sk_buff *msg);
/* Is the requester of a netlink answer an administrator of the machine? */
bool iwt_sock_asker_admin(const struct sk_buff *msg);

/* sock_takeover.c: process context, may sleep */
int iwt_sock_look(int fd, struct net *net, bool *unread,
		  struct sockaddr_storage *local);
int iwt_sock_take(int fd, struct net *net, const struct iwt_sock_ops *ops,
		  void *ctx, bool *unread, struct iwt_sock **out);
int iwt_sock_keep(struct iwt_sock *s);
void iwt_sock_give_back(struct iwt_sock *s);

/*
 * sock_run.c: any context, except that iwt_sock_run_sync() and iwt_sock_run_here() need process
 * context, and iwt_sock_gather() needs the spinlock of the socket
 */
void iwt_sock_run(struct iwt_sock *s);
void iwt_sock_run_sync(struct iwt_sock *s);
void iwt_sock_run_here(struct iwt_sock *s);
void iwt_sock_run_bh(struct iwt_sock *s);
/* Return: true if a run is queued; false if the caller has to run the engines. */
bool iwt_sock_gather(struct iwt_sock *s);
void iwt_sock_retry(struct iwt_sock *s);

/*
 * sock_recv.c: iwt_sock_recv() may sleep, iwt_sock_bytes_aside() is for any context, the other
 * functions need the socket lock
 */
int iwt_sock_recv(struct iwt_sock *s, void *buf, u32 len);
u32 iwt_sock_peek(struct iwt_sock *s, struct iwt_sock_cursor *cur);
u32 iwt_sock_peek_from(struct iwt_sock *s, u32 skip, struct iwt_sock_cursor *cur);
u32 iwt_sock_count_begins(const struct iwt_sock *s, const struct iwt_sock_cursor *cur,
			  u32 used, u32 stride, u32 n);
/* Is the byte at @cur the first byte of a segment? The result is a best guess. */
bool iwt_sock_begins_segment(const struct iwt_sock *s,
			     const struct iwt_sock_cursor *cur, u32 used);
void iwt_sock_consume(struct iwt_sock *s, u32 len);
void iwt_sock_set_aside(struct iwt_sock *s);
/* Has the peer's FIN arrived? */
bool iwt_sock_at_eof(const struct iwt_sock *s);
/* Have data arrived that the CPU can't read? */
bool iwt_sock_blind(const struct iwt_sock *s);
u64 iwt_sock_bytes_aside(void);

/* sock_ahead.c: process context, may sleep */
#ifdef CONFIG_INFINIBAND_IW_TCP_AHEAD
void iwt_sock_watch_ahead(struct iwt_sock *s);
#else
static inline void iwt_sock_watch_ahead(struct iwt_sock *s) {}
#endif

/* sock_send.c: iwt_sock_send() may sleep, the other functions need the socket lock */
int iwt_sock_send(struct iwt_sock *s, const void *buf, u32 len);
int iwt_sock_send_pages(struct iwt_sock *s, const struct bio_vec *piece, u32 n,
			u32 bytes, int flags);
int iwt_sock_send_zerocopy(struct iwt_sock *s, const struct bio_vec *piece,
			   u32 n, u32 bytes, u32 skip, struct ubuf_info *ubuf);
/* May TCP refer to a consumer's memory, and is that worthwhile? */
bool iwt_sock_may_zerocopy(const struct iwt_sock *s, bool anywhere);
/* Does TCP's send buffer have room for more data? */
bool iwt_sock_writable(struct iwt_sock *s);
/* Did a send fail only because memory was missing? */
bool iwt_sock_starved(const struct iwt_sock *s);

/*
 * sock_tune.c: the functions need the socket lock. In a driver that is built with
 * IWT_WITHOUT=TUNE, they do nothing, and iwt_sock_near() returns false. iwt_sock_near() answers
 * whether the receiver seems to be on this machine.
 */
#ifdef CONFIG_INFINIBAND_IW_TCP_TUNE
void iwt_sock_follow_route(struct iwt_sock *s);
bool iwt_sock_near(const struct iwt_sock *s);
void iwt_sock_cut_at(struct iwt_sock *s, u32 segs);
void iwt_sock_batch_done(struct iwt_sock *s);
void iwt_sock_await(struct iwt_sock *s, u32 len);
#else
static inline void iwt_sock_follow_route(struct iwt_sock *s) {}
static inline bool iwt_sock_near(const struct iwt_sock *s) { return false; }
static inline void iwt_sock_cut_at(struct iwt_sock *s, u32 segs) {}
static inline void iwt_sock_batch_done(struct iwt_sock *s) {}
static inline void iwt_sock_await(struct iwt_sock *s, u32 len) {}
#endif

/*
 * sock_state.c: iwt_sock_names() may sleep, iwt_sock_in_backlog() needs the socket lock, the
 * other functions are for any context
 */
enum iwt_sock_state iwt_sock_state(const struct iwt_sock *s);
int iwt_sock_error(const struct iwt_sock *s);
void iwt_sock_names_now(const struct iwt_sock *s, struct sockaddr_storage *local,
			struct sockaddr_storage *remote);
u32 iwt_sock_acked(const struct iwt_sock *s);
u32 iwt_sock_mss(const struct iwt_sock *s);
/* Does a task own the socket, so that the callback must not send? */
bool iwt_sock_in_backlog(const struct iwt_sock *s);
struct iwt_sock_segs iwt_sock_segs(const struct iwt_sock *s);
int iwt_sock_names(struct iwt_sock *s, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote);

#endif
