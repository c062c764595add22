/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_SKBUFF_H
#define OLDER_LINUX_SKBUFF_H
#define skb_frags_readable newer_skb_frags_readable
#include_next <linux/skbuff.h>
#undef skb_frags_readable
#endif
