/* SPDX-License-Identifier: GPL-2.0 */
/* The inside of a socket, for sock*.c. */
#ifndef IWT_SOCK_PRIV_H
#define IWT_SOCK_PRIV_H

#include <linux/workqueue.h>
#include <net/tcp.h>

#include "sock.h"

/*
 * How long TCP may try to get the last octets of a closed connection to a peer that does not
 * answer, in milliseconds: more than twice the ten seconds for which a path may be dead, as TCP
 * sends again after times that double. It keeps the network namespace alive for that time.
 */
#define IWT_SOCK_ORPHAN_MS	25000
/* How long a process's system call on its socket may make this driver wait for the lock. */
#define IWT_SOCK_OWNER_MS	500
/*
 * A path that takes as long as this, in microseconds, is none within this machine: a container's
 * device leads to another host.
 */
#define IWT_SOCK_FAR_US		250

struct dst_entry;
struct sock;
struct sockaddr_storage;
struct socket;

/* Work that runs the engines. */
struct iwt_sock_work {
	struct work_struct work;
	struct iwt_sock *s;
};

/**
 * struct iwt_sock - a TCP socket and what it calls
 * @sock: kernel socket
 * @sk: the same; with a reference until the object is freed
 * @ops: callbacks, or NULL; changed under the socket lock
 * @ctx: their argument
 * @release: ends it, if not as sock.c ends a socket of its own
 * @listener: it listens
 * @user: a process made it and has a descriptor of it; @sock's file is held
 * @blind: octets have come that the CPU can't read
 * @shut: this driver has ended the sending direction
 * @route: route that @nic is about; only compared, no reference is held
 * @nic: a network card sends
 * @near: the limits of what stays on this machine are in force
 * @segs: TCP may send so many segments at once; 0 as long as nothing was sent
 * @dev_segs: how many it might without this driver
 * @readable: sequence number up to which the CPU can read what has come
 * @aside: octets that TCP counts as read, and that nobody has used yet
 * @aside.mem: memory that they are in, or NULL
 * @aside.size: octets of that memory
 * @aside.off: where the first of them is
 * @aside.len: how many
 * @aside.begins: the first octet of @mem was the first of a segment
 * @run_wanted: the owner has to run the engines when it lets the socket go
 * @run_work: runs the engines; one of the two is in use
 * @run_by: which; see iwt_sock_run_here()
 * @retry_work: runs the engines later: no memory, or an owner outside of this driver
 * @saved: the socket's own callbacks, and what else is to be given back
 * @abort: of a process's socket: the connection is to end by RST
 * @user_work: ends it when no system call owns the socket any more
 * @user_delay: jiffies until it looks again
 * @end_work: frees it; callbacks and iwt_sock_run() look it up under RCU
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
	bool run_wanted;
	struct iwt_sock_work run_work[2];
	u8 run_by;
	struct delayed_work retry_work;
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
	struct rcu_work end_work;
};

/* Octets of a full segment; see iwt_sock_mss(). */
static inline u32 iwt_sock_segment(const struct iwt_sock *s)
{
	return READ_ONCE(tcp_sk(s->sk)->mss_cache);
}

/* Is the path long? TCP's RTT is the least of some minutes. The socket lock is held. */
static inline bool iwt_sock_is_far(const struct iwt_sock *s)
{
	return tcp_min_rtt(tcp_sk(s->sk)) >= IWT_SOCK_FAR_US;
}

/* sock.c */
struct iwt_sock *iwt_sock_new(struct socket *sock,
			      const struct iwt_sock_ops *ops, void *ctx);
int iwt_sock_hook(struct iwt_sock *s);
void iwt_sock_unhook(struct iwt_sock *s);
void iwt_sock_free_later(struct iwt_sock *s);
void iwt_sock_end_later(struct iwt_sock *s, unsigned long delay);

/* sock_alive.c */
void iwt_sock_ask(struct sock *sk);

/* sock_run.c */
int iwt_sock_run_init(void);
void iwt_sock_run_exit(void);
void iwt_sock_run_setup(struct iwt_sock *s);
void iwt_sock_run_end(struct iwt_sock *s);
void iwt_sock_own(struct iwt_sock *s);
void iwt_sock_disown(struct iwt_sock *s);
int iwt_sock_lock_within(struct sock *sk, unsigned int ms);
void iwt_sock_unlock(struct sock *sk);
int iwt_sock_own_within(struct iwt_sock *s, unsigned int ms);
int iwt_sock_own_soon(struct iwt_sock *s);

/* sock_send.c */
bool iwt_sock_has_room(const struct sock *sk);

/* sock_recv.c */
void iwt_sock_free_aside(struct iwt_sock *s);

/* sock_ulp.c */
void iwt_sock_set_ulp(struct sock *sk, bool user);
bool iwt_sock_hand_over(struct sock *sk, const struct iwt_sock_owner *owner);
void iwt_sock_drop_ulp(struct sock *sk);
void iwt_sock_ulp_exit(void);

/* sock_state.c */
void iwt_sock_local(struct sock *sk, struct sockaddr_storage *a);

/* sock_tune.c */
#ifndef CONFIG_INFINIBAND_IW_TCP_UNTUNED
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
