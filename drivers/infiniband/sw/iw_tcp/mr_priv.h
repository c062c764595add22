/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of memory regions (mr*.c, mw.c). */
#ifndef IWT_MR_PRIV_H
#define IWT_MR_PRIV_H

#include <rdma/ib_umem.h>

#include "dev.h"
#include "mr.h"

/* Access flags that only pinned regions (IWT_MR_USER) accept. */
#ifdef CONFIG_INFINIBAND_IW_TCP_WINDOWS
#define IWT_MR_USER_FLAGS	IB_ACCESS_MW_BIND
#else
#define IWT_MR_USER_FLAGS	0
#endif
/* Access flags that only on-demand regions (IWT_MR_ODP) accept. IB_ACCESS_HUGETLB is ignored. */
#define IWT_MR_ODP_FLAGS	(IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB)

int iwt_mr_rights(int access, u32 *rights);
int iwt_mr_check_bounds(u64 start, u64 len, u64 iova);
gfp_t iwt_mr_gfp(const struct ib_pd *pd);
void iwt_mr_init(struct iwt_mr *mr, struct ib_pd *pd, enum iwt_mr_kind kind);
struct iwt_mr *iwt_mr_alloc(struct ib_pd *pd, enum iwt_mr_kind kind);
int iwt_mr_take_stag(struct iwt_mr *mr, u32 *stag);
void iwt_mr_set_stag(struct iwt_mr *mr, u32 stag) __must_hold(&mr->lock.lock);
void iwt_mr_drop_stag(struct iwt_mr *mr, u32 stag);
int iwt_mr_publish(struct iwt_mr *mr);
void iwt_mr_retract(struct iwt_mr *mr);
void iwt_mr_free(struct iwt_mr *mr);
void iwt_mr_unpin(struct ib_umem *umem);

/*
 * Update the gauge of pinned memory. @is: true if @umem was pinned, false if @umem is about to be
 * released. Any context.
 */
static inline void iwt_mr_note_pinned(struct ib_umem *umem, bool is)
{
	s64 bytes = (s64)ib_umem_num_pages(umem) << PAGE_SHIFT;

	atomic64_add(is ? bytes : -bytes, &to_iwt_dev(umem->ibdev)->pinned);
}

/* Return: region.relaxed of a new registration with the flags @access */
static inline u32 iwt_mr_order(int access)
{
	return access & IB_ACCESS_RELAXED_ORDERING ? IWT_RELAXED : 0;
}

/*
 * Set the bounds, the rights and the validity of @mr. The flags @mr->access are already set.
 * Either @mr has no STag yet, or the caller holds @mr->lock for writing.
 */
static inline void iwt_mr_cover(struct iwt_mr *mr, u64 iova, u64 len,
				u32 rights, bool valid)
{
	mr->origin = iova;
	mr->region.base = iova;
	mr->region.len = len;
	mr->region.rights = rights;
	mr->region.relaxed = iwt_mr_order(mr->access);
	mr->region.valid = valid;
}

/*
 * May peers have these access flags (enum ib_access_flags) for a dma-buf? An exporter may map its
 * memory write-combined. Of the supported processors, only those of x86 certainly execute atomic
 * instructions on such memory; on others they may fault, so that a peer could crash the machine.
 */
static inline bool iwt_dmabuf_may_have(int access)
{
	return IS_ENABLED(CONFIG_X86_64) || !(access & IB_ACCESS_REMOTE_ATOMIC);
}

/*
 * Are windows bound to the region? The caller holds the lock of the region for writing, so no
 * other window can be bound to the region meanwhile. If the count is 0, no engine uses the region
 * through a former window any more: the acquire pairs with leave_region() in mw.c.
 */
static inline bool iwt_mr_has_windows(const struct iwt_mr *mr)
{
	iwt_fair_assert_write(&mr->lock);
	return atomic_read_acquire(&mr->windows);
}

#endif
