/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_TASK_FRAG_H
#define COMPAT_TASK_FRAG_H

#include <net/sock.h>

/* Here the kernel decides by sk_allocation: never with GFP_ATOMIC. */
static inline void compat_sock_no_task_frag(struct sock *sk)
{
}

#endif
