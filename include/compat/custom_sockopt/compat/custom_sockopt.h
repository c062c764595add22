/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CUSTOM_SOCKOPT_H
#define COMPAT_CUSTOM_SOCKOPT_H

#include <linux/net.h>

/*
 * This kernel lacks SOCK_CUSTOM_SOCKOPT: setsockopt(2) of SOL_SOCKET does not call
 * proto_ops.setsockopt of a TCP socket. So after a takeover a process can still set options of
 * SOL_SOCKET.
 */
static inline void compat_sock_custom_sockopt(struct socket *sock)
{
}

#endif
