/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_USER_TIMEOUT_H
#define COMPAT_USER_TIMEOUT_H

#include <linux/tcp.h>

/* Set TCP_USER_TIMEOUT. The caller need not hold the lock of the socket, but may hold it. */
static inline void compat_set_user_timeout(struct sock *sk, int ms)
{
	tcp_sock_set_user_timeout(sk, ms);
}

#endif
