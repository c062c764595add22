/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_TASK_FRAG_H
#define COMPAT_TASK_FRAG_H

#include <net/sock.h>

/*
 * This kernel lacks the member sk_use_task_frag of struct sock: if sk_allocation is GFP_ATOMIC,
 * it does not use the page fragment of the task.
 */
static inline void compat_sock_no_task_frag(struct sock *sk)
{
}

#endif
