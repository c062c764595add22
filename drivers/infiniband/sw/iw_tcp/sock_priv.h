/* SPDX-License-Identifier: GPL-2.0 */
/* Internals of a socket, for sock*.c only. */
#ifndef IWT_SOCK_PRIV_H
#define IWT_SOCK_PRIV_H

#include <linux/workqueue.h>
#include <net/tcp.h>

#include "sock.h"

/*
 * Time, in milliseconds, for which TCP may retransmit the last data of a closed connection to a
 * peer that does not answer. A path may fail for ten seconds without loss of data. The time is
 * more than twice as long, since TCP doubles its retransmission timeout each time. As long as TCP
 * retransmits, the socket keeps its network namespace alive.
 */
#define IWT_SOCK_ORPHAN_MS	25000
/* Maximum time, in milliseconds, to wait until a system call releases the socket of a process. */
#define IWT_SOCK_OWNER_MS	500
/*
 * Minimum round trip time of a far path, in microseconds. Such a path leads to another machine,
 * even if the local device (of a container, for example) has no network card.
 */
#define IWT_SOCK_FAR_US		250

struct dst_entry;
struct sock;
struct sockaddr_storage;
struct socket;

/* A work item that runs the engines of the socket @s. */
struct iwt_sock_work {
	struct work_struct work;
	struct iwt_sock *s;
};

/**
 * struct iwt_sock - a TCP socket and its callbacks
 * @sock: kernel socket
 * @sk: TCP's socket; this object holds a reference to it
 * @ops: callbacks, or NULL; changed under the socket lock
 * @ctx: argument of the callbacks
 * @release: if not NULL, iwt_sock_release() calls it: for a socket that a process created
 * @listener: the socket listens
 * @user: a process created the socket and has a descriptor of it; this object holds a reference
 *	to the file of @sock
 * @blind: data have arrived that can't be read (iwt_sock_can_walk())
 * @shut: this driver has ended the sending direction
 * @asks: iwt_sock_ask_early() has made TCP probe the peer each second
 * @route: route for which @nic was determined; the pointer is only compared, and no reference is
 *	held
 * @nic: the route leads to a network card
 * @near: the limits for a receiver on this machine are in force (set_limits())
 * @segs: last value that iwt_sock_cut_at() determined for sk_gso_max_segs, the maximum number of
 *	segments of an skb; 0 until the first batch
 * @dev_segs: value of sk_gso_max_segs that TCP has set for the net device, to be restored
 * @readable: sequence number up to which received data are known to be readable
 * @aside: received bytes that TCP counts as read, but that the engine has not consumed
 * @aside.mem: memory with these bytes, or NULL
 * @aside.size: size of @aside.mem in bytes
 * @aside.off: offset in @aside.mem of the first byte that was not consumed
 * @aside.len: number of bytes that were not consumed
 * @aside.begins: the first byte of @aside.mem was the first byte of a segment
 * @ooopack: value of TCP's counter of segments behind gaps at the last call of ops->ahead
 * @run_wanted: the owner must run the engines when the owner releases the socket
 * @run_work: two work items that run the engines; a run is queued by run_work[@run_by] only
 * @run_by: index into @run_work; iwt_sock_run_here() changes the index, because the former work
 *	item may still be running on another processor
 * @retry_work: runs the engines later, if memory was missing or a task outside of this driver
 *	owned the socket
 * @retry_delay: delay of the next retry of @retry_work after a retry that has found an owner, in
 *	jiffies; guarded by the spinlock of the socket
 * @saved: the socket's own callbacks, and other fields of the socket that the driver restores
 * @abort: for a socket of a process: end the connection by RST
 * @user_work: for a socket of a process: ends the connection when no system call owns the socket
 *	any more
 * @user_delay: delay of the next retry of @user_work, in jiffies
 * @was_cgroup: former control group of the socket (iwt_sock_set_owner()), or NULL
 * @end_work: frees the object after an RCU grace period, since callbacks and callers of
 *	iwt_sock_run() find the object under RCU
 */
struct iwt_sock {
	struct socket *sock;
	struct sock *sk;
	const struct iwt_sock_ops *ops;
	void *ctx;
	void (*release)(struct iwt_sock *s, bool abort);
	bool listener;
	bool user;
	bool blind;
	bool shut;
	bool asks;
	const struct dst_entry *route;
	bool nic;
	bool near;
	u16 segs;
	u16 dev_segs;
	u32 readable;
	struct {
		u8 *mem;
		u32 size;
		u32 off;
		u32 len;
		bool begins;
	} aside;
	u32 ooopack;
	bool run_wanted;
	struct iwt_sock_work run_work[2];
	u8 run_by;
	struct delayed_work retry_work;
	u32 retry_delay;
	struct {
		void (*data_ready)(struct sock *sk);
		void (*write_space)(struct sock *sk);
		void (*state_change)(struct sock *sk);
		void (*error_report)(struct sock *sk);
		gfp_t allocation;
		int rcvlowat;
		u8 pacing_shift;
		u32 notsent_lowat;
	} saved;
	bool abort;
	struct delayed_work user_work;
	unsigned long user_delay;
	struct cgroup *was_cgroup;
	struct rcu_work end_work;
};

static inline int iwt_sock_addr_len(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					  sizeof(struct sockaddr_in);
}

/* Size of a full segment in bytes: the EMSS of RFC 5044. */
static inline u32 iwt_sock_segment(const struct iwt_sock *s)
{
	return READ_ONCE(tcp_sk(s->sk)->mss_cache);
}

/*
 * Is the minimum round trip time that TCP has measured in the last minutes at least
 * IWT_SOCK_FAR_US? The result is true, too, if TCP has not measured a round trip time yet. The
 * socket lock is held.
 */
static inline bool iwt_sock_is_far(const struct iwt_sock *s)
{
	return tcp_min_rtt(tcp_sk(s->sk)) >= IWT_SOCK_FAR_US;
}

/* sock.c */
struct iwt_sock *iwt_sock_new(struct socket *sock,
			      const struct iwt_sock_ops *ops, void *ctx);
int iwt_sock_hook(struct iwt_sock *s);
void iwt_sock_unhook(struct iwt_sock *s);
const struct iwt_sock_ops *iwt_sock_ops_of(struct sock *sk, struct iwt_sock **s);
void iwt_sock_write_space(struct sock *sk);
void iwt_sock_free_later(struct iwt_sock *s);
void iwt_sock_end_later(struct iwt_sock *s, unsigned long delay);

/* sock_bind.c */
int iwt_sock_bind(struct socket *sock, const struct iwt_sock_addr *addr);

/* sock_alive.c */
void iwt_sock_ask(struct sock *sk);

/* sock_run.c */
int iwt_sock_run_init(void);
void iwt_sock_run_exit(void);
void iwt_sock_run_setup(struct iwt_sock *s);
void iwt_sock_run_end(struct iwt_sock *s);
#ifdef CONFIG_LOCKDEP
void iwt_sock_init_class(struct sock *sk);
void iwt_sock_set_class(struct sock *sk);
void iwt_sock_drop_class(struct sock *sk);
#else
static inline void iwt_sock_init_class(struct sock *sk) {}
static inline void iwt_sock_set_class(struct sock *sk) {}
static inline void iwt_sock_drop_class(struct sock *sk) {}
#endif
void iwt_sock_own(struct iwt_sock *s);
void iwt_sock_disown(struct iwt_sock *s);
int iwt_sock_lock_within(struct sock *sk, unsigned int ms);
void iwt_sock_unlock(struct sock *sk);
int iwt_sock_own_within(struct iwt_sock *s, unsigned int ms);
int iwt_sock_own_soon(struct iwt_sock *s);
int iwt_sock_own_now(struct iwt_sock *s);

/* sock_send.c */
/* Does the send buffer have enough room for one batch? */
bool iwt_sock_has_room(const struct sock *sk);

/* sock_recv.c */
void iwt_sock_free_aside(struct iwt_sock *s);

/* sock_owner.c; return: true if the owner is set; false if TCP holds memory for the socket */
bool iwt_sock_hand_over(struct sock *sk, const struct iwt_sock_owner *owner, struct cgroup **was);

/* sock_ulp.c */
void iwt_sock_set_ulp(struct sock *sk, bool user);
void iwt_sock_drop_ulp(struct sock *sk);
void iwt_sock_ulp_exit(void);

/* sock_state.c */
void iwt_sock_local(struct sock *sk, struct sockaddr_storage *a);

/* sock_tune.c */
#ifdef CONFIG_INFINIBAND_IW_TCP_TUNE
void iwt_sock_save_limits(struct iwt_sock *s);
void iwt_sock_drop_limits(struct iwt_sock *s);
void iwt_sock_widen(struct socket *sock);
void iwt_sock_unbind(struct sock *sk);
void iwt_sock_undelay(struct sock *sk);
void iwt_sock_put_keepalive(struct sock *sk, u32 idle, u32 between, u32 probes);
void iwt_sock_put_user_timeout(struct sock *sk, u32 ms);
#else
static inline void iwt_sock_save_limits(struct iwt_sock *s) {}
static inline void iwt_sock_drop_limits(struct iwt_sock *s) {}
static inline void iwt_sock_widen(struct socket *sock) {}
static inline void iwt_sock_unbind(struct sock *sk) {}
static inline void iwt_sock_undelay(struct sock *sk) {}
static inline void iwt_sock_put_keepalive(struct sock *sk, u32 idle, u32 between, u32 probes) {}
static inline void iwt_sock_put_user_timeout(struct sock *sk, u32 ms) {}
#endif

#endif
