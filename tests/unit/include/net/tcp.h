/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_TCP_H
#define IWT_SHIM_TCP_H

#define TCP_SKB_CB(skb)	(&(skb)->cb)

#endif
