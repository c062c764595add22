/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CUSTOM_SOCKOPT_H
#define COMPAT_CUSTOM_SOCKOPT_H

#include <linux/net.h>

/* Make setsockopt(2) call proto_ops.setsockopt of the socket for SOL_SOCKET, too. */
static inline void compat_sock_custom_sockopt(struct socket *sock)
{
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
}

#endif
