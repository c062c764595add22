/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CUSTOM_SOCKOPT_H
#define COMPAT_CUSTOM_SOCKOPT_H

#include <linux/net.h>

/* Here these options are the core's for every socket. */
static inline void compat_sock_custom_sockopt(struct socket *sock)
{
}

#endif
