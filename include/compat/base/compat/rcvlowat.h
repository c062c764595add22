/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_RCVLOWAT_H
#define COMPAT_RCVLOWAT_H

#include <linux/net.h>

/*
 * Set SO_RCVLOWAT of a TCP socket. The caller holds the lock of the socket, and has checked that
 * the socket has the operation.
 */
static inline void compat_set_rcvlowat(struct socket *sock, int len)
{
	sock->ops->set_rcvlowat(sock->sk, len);
}

#endif
