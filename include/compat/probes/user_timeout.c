// SPDX-License-Identifier: GPL-2.0
/*
 * Older versions of tcp_sock_set_user_timeout() lock the socket, and return
 * nothing. Newer versions do not lock the socket, and return an error.
 */
#include <linux/tcp.h>

static inline int probe(struct sock *sk)
{
	return tcp_sock_set_user_timeout(sk, 1);
}
