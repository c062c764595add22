// SPDX-License-Identifier: GPL-2.0
/*
 * With this counter, a thread that sleeps on a socket detects a disconnect. So
 * tcp_disconnect() need not fail while a thread sleeps.
 */
#include <net/sock.h>

static inline int probe(const struct sock *sk)
{
	return sk->sk_disconnects;
}
