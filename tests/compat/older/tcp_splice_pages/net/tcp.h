/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_NET_TCP_H
#define OLDER_NET_TCP_H
#include_next <net/tcp.h>
#define MSG_SENDPAGE_NOTLAST 0x20000
int tcp_sendpage_locked(struct sock *sk, struct page *page, int offset, size_t size, int flags);
#endif
