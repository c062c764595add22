/* SPDX-License-Identifier: GPL-2.0 */
/* Inside of a socket, for sock.c and sock_data.c. */
#ifndef IWT_SOCK_PRIV_H
#define IWT_SOCK_PRIV_H

#include <linux/workqueue.h>

#include "sock.h"

struct sock;
struct socket;

/**
 * struct iwt_sock - a TCP socket and who listens to it
 * @sock: kernel socket
 * @sk: the same; with a reference until the object is freed
 * @ops: listener's callbacks, or NULL; changed under the socket lock
 * @ctx: their argument
 * @listener: it listens
 * @readable: sequence number up to which the CPU can read what has come
 * @kicked: a kick is to be answered when the owner lets the socket go
 * @kick_work: answers a kick for a context that could not
 * @retry_work: the same, when the owner is none of ours
 * @saved: the socket's own callbacks
 * @end_work: frees it; callbacks and kicks look it up under RCU
 */
struct iwt_sock {
	struct socket *sock;
	struct sock *sk;
	const struct iwt_sock_ops *ops;
	void *ctx;
	bool listener;
	u32 readable;
	bool kicked;
	struct work_struct kick_work;
	struct delayed_work retry_work;
	struct {
		void (*data_ready)(struct sock *sk);
		void (*write_space)(struct sock *sk);
		void (*state_change)(struct sock *sk);
		void (*error_report)(struct sock *sk);
	} saved;
	struct rcu_work end_work;
};

#endif
