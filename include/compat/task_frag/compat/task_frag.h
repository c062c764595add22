/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_TASK_FRAG_H
#define COMPAT_TASK_FRAG_H

#include <net/sock.h>

/* This kernel decides by sk_allocation: with GFP_ATOMIC it does not use the fragment. */
static inline void compat_sock_no_task_frag(struct sock *sk)
{
}

#endif
