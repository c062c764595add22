/* SPDX-License-Identifier: GPL-2.0 */
/* Inside of a socket, for sock.c and sock_data.c. */
#ifndef IWT_SOCK_PRIV_H
#define IWT_SOCK_PRIV_H

#include <linux/workqueue.h>

#include "sock.h"

/*
 * How long TCP may try to get the last octets of a closed connection to a peer
 * that does not answer, in milliseconds. It keeps the network namespace alive
 * for that time.
 */
#define IWT_SOCK_ORPHAN_MS	15000

struct dst_entry;
struct sock;
struct sockaddr_storage;
struct socket;

/**
 * struct iwt_sock - a TCP socket and who listens to it
 * @sock: kernel socket
 * @sk: the same; with a reference until the object is freed
 * @ops: listener's callbacks, or NULL; changed under the socket lock
 * @ctx: their argument
 * @listener: it listens
 * @user: a process made it and has a descriptor of it; @sock's file is held
 * @blind: something has come that can't be read
 * @shut: we have ended our direction
 * @route: route that @nic is about; only compared, as it is not held
 * @nic: a network card sends
 * @readable: sequence number up to which the CPU can read what has come
 * @aside: octets that TCP has been told of as read, and nobody has dealt with yet
 * @aside.mem: memory that they are in, or NULL
 * @aside.size: octets of that memory
 * @aside.off: where the first of them is
 * @aside.len: how many
 * @aside.begins: the first of @mem was a segment's first octet
 * @kicked: a kick is to be answered when the owner lets the socket go
 * @kick_work: answers kicks for contexts that could not, one of both for all
 * @kick_by: which; see iwt_sock_pull()
 * @retry_work: the same, when the owner is none of ours
 * @saved: the socket's own callbacks, and what else is to be given back
 * @abort: of a process's socket: the connection is to end by RST
 * @user_work: ends it when no system call owns the socket any more
 * @user_delay: jiffies until it looks again
 * @end_work: frees it; callbacks and kicks look it up under RCU
 */
struct iwt_sock {
	struct socket *sock;
	struct sock *sk;
	const struct iwt_sock_ops *ops;
	void *ctx;
	bool listener;
	bool user;
	bool blind;
	bool shut;
	const struct dst_entry *route;
	bool nic;
	u32 readable;
	struct {
		u8 *mem;
		u32 size;
		u32 off;
		u32 len;
		bool begins;
	} aside;
	bool kicked;
	struct iwt_sock_work {
		struct work_struct work;
		struct iwt_sock *s;
	} kick_work[2];
	u8 kick_by;
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

/* sock.c, for sock_user.c */
struct iwt_sock *iwt_sock_new(struct socket *sock,
			      const struct iwt_sock_ops *ops, void *ctx);
void iwt_sock_own(struct iwt_sock *s);
void iwt_sock_disown(struct iwt_sock *s);
int iwt_sock_hook(struct iwt_sock *s);
void iwt_sock_unhook(struct iwt_sock *s);
void iwt_sock_free_later(struct iwt_sock *s);
void iwt_sock_end_later(struct iwt_sock *s, unsigned long delay);

/* sock_kick.c, for sock.c */
void iwt_sock_kick_setup(struct iwt_sock *s);
void iwt_sock_kick_end(struct iwt_sock *s);

/* sock_aside.c, for sock_data.c */
void iwt_sock_drop_aside(struct iwt_sock *s, u32 len);

/* sock_data.c, for the others */
void iwt_sock_local(struct sock *sk, struct sockaddr_storage *a);
void iwt_sock_widen(struct socket *sock);
int iwt_sock_sendmsg(struct iwt_sock *s, struct msghdr *msg, u32 len);

/* sock_user.c, for sock.c and sock_data.c */
int iwt_sock_own_soon(struct iwt_sock *s);
void iwt_sock_release_user(struct iwt_sock *s, bool abort);

#endif
