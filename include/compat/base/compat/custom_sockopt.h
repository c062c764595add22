/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CUSTOM_SOCKOPT_H
#define COMPAT_CUSTOM_SOCKOPT_H

#include <linux/net.h>

/* From now on setsockopt(2) of SOL_SOCKET, too, calls proto_ops.setsockopt of the socket. */
static inline void compat_sock_custom_sockopt(struct socket *sock)
{
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
}

#endif
