/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_USER_TIMEOUT_H
#define COMPAT_USER_TIMEOUT_H

#include <linux/compiler.h>
#include <net/inet_connection_sock.h>

/*
 * tcp_sock_set_user_timeout() of this kernel locks the socket, which the caller may have locked
 * already. But TCP reads this field without the lock, so it may be written without the lock, too.
 */
static inline void compat_set_user_timeout(struct sock *sk, int ms)
{
	WRITE_ONCE(inet_csk(sk)->icsk_user_timeout, ms);
}

#endif
