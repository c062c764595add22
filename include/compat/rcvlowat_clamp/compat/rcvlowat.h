/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_RCVLOWAT_H
#define COMPAT_RCVLOWAT_H

#include <linux/net.h>
#include <linux/tcp.h>

/*
 * If this kernel's tcp_set_rcvlowat() enlarges the receive buffer, it may also set window_clamp
 * to the size that the window then has. A clamp that is set before the handshake limits the
 * window for the lifetime of the connection. So this function restores the former window_clamp if
 * it was higher, or 0: then TCP has not set window_clamp yet.
 */
static inline void compat_set_rcvlowat(struct socket *sock, int len)
{
	struct tcp_sock *tp = tcp_sk(sock->sk);
	u32 clamp = tp->window_clamp;

	sock->ops->set_rcvlowat(sock->sk, len);
	if (!clamp || clamp > tp->window_clamp)
		WRITE_ONCE(tp->window_clamp, clamp);
}

#endif
