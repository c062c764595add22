/* SPDX-License-Identifier: GPL-2.0 */
/* Creating and removing devices. */
#ifndef IWT_DEVICE_H
#define IWT_DEVICE_H

struct net;
struct net_device;

int iwt_device_init(void);
void iwt_device_exit(void);
int iwt_dev_add(const char *name, struct net_device *netdev, struct net *net);

#endif
