/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CUSTOM_SOCKOPT_H
#define COMPAT_CUSTOM_SOCKOPT_H

#include <linux/net.h>

/* In this kernel, setsockopt(2) of SOL_SOCKET does not call the operations of a TCP socket. */
static inline void compat_sock_custom_sockopt(struct socket *sock)
{
}

#endif
