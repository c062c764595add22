/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CUSTOM_SOCKOPT_H
#define COMPAT_CUSTOM_SOCKOPT_H

#include <linux/net.h>

/* In this kernel, setsockopt(2) never calls the operations of a socket for SOL_SOCKET. */
static inline void compat_sock_custom_sockopt(struct socket *sock)
{
}

#endif
