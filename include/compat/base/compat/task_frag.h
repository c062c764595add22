/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_TASK_FRAG_H
#define COMPAT_TASK_FRAG_H

#include <net/sock.h>

/* TCP in softirq must not use the page fragment of the task that was interrupted. */
static inline void compat_sock_no_task_frag(struct sock *sk)
{
	sk->sk_use_task_frag = false;
}

#endif
