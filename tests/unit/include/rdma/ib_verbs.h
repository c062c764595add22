/* SPDX-License-Identifier: GPL-2.0 */
/* The members of RDMA core's objects that the files under test use. */
#ifndef IWT_SHIM_IB_VERBS_H
#define IWT_SHIM_IB_VERBS_H

#include <linux/types.h>

struct ib_device {
	int unused;
};

enum ib_access_flags {
	IB_ACCESS_LOCAL_WRITE = 1 << 0,
	IB_ACCESS_REMOTE_WRITE = 1 << 1,
	IB_ACCESS_REMOTE_READ = 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC = 1 << 3,
	IB_ACCESS_MW_BIND = 1 << 4,
	IB_ZERO_BASED = 1 << 5,
};

struct ib_pd {
	struct ib_device *device;
};

struct ib_uobject {
	int usecnt;
};

struct ib_mr {
	u32 lkey, rkey;
	struct ib_uobject *uobject;
};

struct ib_mw {
	u32 rkey;
};

struct rdma_hw_stats {
	unsigned long is_disabled[4];
	u64 value[100];
};

struct rdma_counter {
	struct ib_device *device;
	u32 id;
	struct rdma_hw_stats *stats;
};

struct ib_qp {
	struct ib_device *device;
	struct rdma_counter *counter;
};

#endif
