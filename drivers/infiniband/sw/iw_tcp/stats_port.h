/* SPDX-License-Identifier: GPL-2.0 */
/* The counters and attributes that tools expect of every RDMA device, in sysfs. */
#ifndef IWT_STATS_PORT_H
#define IWT_STATS_PORT_H

#include <linux/types.h>

struct attribute_group;
struct ib_device;
struct ib_grh;
struct ib_mad;
struct ib_wc;

extern const struct attribute_group iwt_port_device_group;

int iwt_port_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
			 const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
			 size_t *out_size, u16 *pkey_index);

#endif
