// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_set_rcvlowat() of older kernels lowers window_clamp, and no header shows
 * this. Linux corrected the function before it changed the prototype of
 * kernel_bind(). Stable kernels may have the correction, but keep the
 * prototype: then the overlay changes nothing.
 */
#include <linux/net.h>
#include <linux/socket.h>

static inline int probe(struct socket *sock, struct sockaddr_unsized *addr)
{
	return kernel_bind(sock, addr, 0);
}
