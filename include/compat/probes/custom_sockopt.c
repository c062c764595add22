// SPDX-License-Identifier: GPL-2.0
#include <linux/net.h>

static inline void probe(struct socket *sock)
{
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
}
