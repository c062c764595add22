/* SPDX-License-Identifier: GPL-2.0 */
/* The GIDs of a link, made of the link layer address and the IP addresses of its net device. */
#ifndef IWT_GID_H
#define IWT_GID_H

#include <rdma/ib_verbs.h>

struct iwt_dev;
struct net_device;

void iwt_gid_setup(struct iwt_dev *dev);
bool iwt_gid_refresh(struct iwt_dev *dev);
int iwt_query_gid(struct ib_device *ibdev, u32 port, int idx, union ib_gid *gid);
struct net_device *iwt_get_netdev(struct ib_device *ibdev, u32 port);

#endif
