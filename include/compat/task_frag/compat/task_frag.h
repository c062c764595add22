/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_TASK_FRAG_H
#define COMPAT_TASK_FRAG_H

#include <net/sock.h>

/*
 * This kernel lacks the member sk_use_task_frag of struct sock. If sk_allocation is GFP_ATOMIC,
 * this kernel never uses the page fragment of a task.
 */
static inline void compat_sock_no_task_frag(struct sock *sk)
{
}

#endif
