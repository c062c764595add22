/* SPDX-License-Identifier: GPL-2.0 */
/* Stub of dev.h: the members of a device that stats_qp.c uses, for the build in user space. */
#ifndef UNIT_DEV_H
#define UNIT_DEV_H

#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "stats.h"

#define INT_MAX			0x7fffffff
#define XA_LIMIT(min, max)	min, max
#define UNIT_SLOTS		8

/* The ID of an entry is its index in the array. */
struct xarray {
	void *at[UNIT_SLOTS];
};

struct iwt_dev {
	struct ib_device ibdev;
	struct iwt_stats *stats;
	u64 *past;
	struct mutex past_mutex;
	struct xarray counters;
	u32 next_counter;
};

static inline struct iwt_dev *to_iwt_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct iwt_dev, ibdev);
}

/* stats_qp_test.c */
int xa_alloc_cyclic(struct xarray *xa, u32 *id, void *entry, u32 min, u32 max, u32 *next, int gfp);
void *xa_erase(struct xarray *xa, unsigned long id);
void *xa_load(struct xarray *xa, unsigned long id);

#define xa_for_each(xa, id, entry) \
	for ((id) = 0; (id) < UNIT_SLOTS; (id)++) \
		if (((entry) = (xa)->at[id]))
#define xa_destroy(xa)	memset(xa, 0, sizeof(*(xa)))

#endif
