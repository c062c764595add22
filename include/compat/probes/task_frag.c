// SPDX-License-Identifier: GPL-2.0
#include <net/sock.h>

static inline void probe(struct sock *sk)
{
	sk->sk_use_task_frag = false;
}
