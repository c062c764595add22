// SPDX-License-Identifier: GPL-2.0
#include <net/sock.h>

static inline void probe(struct sock *sk)
{
	sk_net_refcnt_upgrade(sk);
}
