/* SPDX-License-Identifier: GPL-2.0 */
/* Stub of mr_priv.h: the parts of memory regions that mw.c uses, for the build in user space. */
#ifndef UNIT_MR_PRIV_H
#define UNIT_MR_PRIV_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <rdma/ib_verbs.h>

#include "access.h"
#include "dev.h"

#define ERR_PTR(err)		((void *)(long)(err))
#define atomic_read(value)	(*(value))
#define atomic_inc(value)	((void)++*(value))
#define atomic_dec_return_release(value)	((void)--*(value))

#define iwt_fair_write_lock_bh		spin_lock_bh
#define iwt_fair_write_unlock_bh	spin_unlock_bh
#define iwt_fair_assert_write(l)	((void)(l)->held)

typedef int gfp_t;

enum iwt_mr_kind { IWT_MR_USER, IWT_MR_WINDOW };

struct iwt_extents {
	u8 *octets;
};

struct iwt_mr {
	struct ib_mr ibmr;
	struct iwt_dev *dev;
	enum iwt_mr_kind kind;
	spinlock_t lock;
	u32 stag;
	struct iwt_region region;
	struct iwt_extents map;
	u64 origin;
	int windows;
	int rcu;
};

static inline u32 iwt_remote_rights(int access)
{
	return (access & IB_ACCESS_REMOTE_WRITE ? IWT_REMOTE_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? IWT_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_ATOMIC ? IWT_REMOTE_ATOMIC : 0);
}

/* mw_test.c */
gfp_t iwt_mr_gfp(const struct ib_pd *pd);
void iwt_mr_init(struct iwt_mr *mr, struct ib_pd *pd, enum iwt_mr_kind kind);
int iwt_mr_publish(struct iwt_mr *mr);
void iwt_mr_retract(struct iwt_mr *mr);
struct iwt_mr *iwt_mr_get(struct iwt_dev *dev, u32 stag);
void iwt_mr_put(struct iwt_mr *mr);
struct iwt_mr *iwt_mr_get_for_change(struct iwt_dev *dev, u32 stag);
void iwt_mr_put_changed(struct iwt_mr *mr);


#endif
