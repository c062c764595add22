// SPDX-License-Identifier: GPL-2.0
#include <linux/net.h>
#include <linux/socket.h>

static inline int probe(struct socket *sock, struct sockaddr_unsized *addr)
{
	return kernel_bind(sock, addr, 0);
}
