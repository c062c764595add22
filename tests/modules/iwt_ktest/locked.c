// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer that connects and disconnects while it owns another TCP socket (lock_sock()), as SMB
 * Direct may. This cannot deadlock, so lockdep must not report a deadlock; the gate of the
 * laboratory checks for such a report.
 */
#include <linux/net.h>
#include <net/sock.h>

#include "kt.h"

static int use_locked(struct kt_conn *c)
{
	int err = iwt_kt_establish(c);

	if (kt_bad(c, err, "cannot connect: error %d", err))
		return -EIO;
	err = iwt_kt_sync(&c->c) ?: iwt_kt_sync(&c->s);
	if (err)
		return err;
	err = rdma_disconnect(c->c.id);
	return kt_bad(c, err, "cannot disconnect: error %d", err);
}

static int locked(struct kt_conn *c)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(c->run->net[0], AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (kt_bad(c, err, "no socket: error %d", err))
		return -EIO;
	lock_sock(sock->sk);
	err = use_locked(c);
	release_sock(sock->sk);
	sock_release(sock);
	return err;
}

const struct kt_case iwt_kt_locked[] = {
	{ "connecting and disconnecting with another socket locked", locked, 0, true },
	{}
};
