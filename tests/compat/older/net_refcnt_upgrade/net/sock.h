/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_NET_SOCK_H
#define OLDER_NET_SOCK_H
#define sk_net_refcnt_upgrade newer_sk_net_refcnt_upgrade
#include_next <net/sock.h>
#undef sk_net_refcnt_upgrade
#endif
