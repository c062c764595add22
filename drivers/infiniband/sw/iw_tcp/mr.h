/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory regions: STags, extents, and the lock that keeps a region alive and valid while bytes
 * are copied.
 */
#ifndef IWT_MR_H
#define IWT_MR_H

#include <rdma/ib_verbs.h>

#include "fair_lock.h"
#include "mr_extents.h"
#include "mr_odp_pager.h"
#include "mr_odp_pages.h"
#include "proto/access.h"

struct ib_umem;
struct iwt_dev;
struct iwt_dmabuf;

enum iwt_mr_kind {
	IWT_MR_USER,	/* pinned memory of a process (struct ib_umem) */
	IWT_MR_FAST,	/* fast registration: ib_alloc_mr(), ib_map_mr_sg() and REG_MR */
	IWT_MR_DMA,	/* all kernel addresses */
	IWT_MR_DMABUF,	/* dma-buf: memory of another driver */
	IWT_MR_ODP,	/* on-demand paging: memory of a process, not pinned */
	IWT_MR_WINDOW,	/* a part of a region of kind IWT_MR_USER (mw.c) */
};

/**
 * struct iwt_mr - memory region, or the STag of a memory window
 * @ibmr: verbs object; a window uses only its lkey and rkey
 * @dev: device
 * @kind: kind of memory
 * @lock: held for reading to copy bytes, and for writing to change validity, key or extents; BH
 *	off
 * @stag: present STag: index << 8 | key
 * @region: bounds, rights, validity, owner
 * @map: memory of the region; for a window, all memory of the window's region
 * @origin: tagged offset of the first byte of @map; a window may begin later, at @region.base
 * @next: IWT_MR_FAST: memory that the next REG_MR will register. The consumer sets @next by
 *	ib_map_mr_sg(), even while @map is still registered; REG_MR then exchanges @next and @map
 * @gaps: IWT_MR_FAST: pieces of memory need not begin or end at page boundaries
 * @next_ready: IWT_MR_FAST: @next is filled and not registered yet
 * @revoked: IWT_MR_DMABUF: the exporter has revoked the memory; the region stays invalid
 * @windows: IWT_MR_USER: number of windows that are bound to the region; incremented only with
 *	the lock held and the region valid
 * @umem: IWT_MR_USER: pinned memory
 * @dmabuf: IWT_MR_DMABUF: dma-buf
 * @odp: IWT_MR_ODP: table of the pages of the process that are present
 * @pager: IWT_MR_ODP: makes absent pages present
 * @user: IWT_MR_ODP: user address of the first byte
 * @access: present access flags, enum ib_access_flags
 * @rcu: defers freeing, because lookups run under RCU
 */
struct iwt_mr {
	struct ib_mr ibmr;
	struct iwt_dev *dev;
	enum iwt_mr_kind kind;
	struct iwt_fair_lock lock;
	u32 stag;
	struct iwt_region region;
	struct iwt_extents map;
	u64 origin;
	struct iwt_extents next;
	bool gaps;
	bool next_ready;
	bool revoked;
	atomic_t windows;
	struct ib_umem *umem;
	struct iwt_dmabuf *dmabuf;
	struct iwt_odp *odp;
	struct iwt_pager *pager;
	u64 user;
	int access;
	struct rcu_head rcu;
};

/**
 * struct iwt_mr_change - new attributes for a region of a process
 * @flags: IB_MR_REREG_*: which of the other members are valid
 * @pd: IB_MR_REREG_PD: protection domain
 * @start: IB_MR_REREG_TRANS: user address
 * @len: IB_MR_REREG_TRANS: length in bytes, not 0
 * @iova: IB_MR_REREG_TRANS: tagged offset of the first byte
 * @access: IB_MR_REREG_ACCESS: enum ib_access_flags
 */
struct iwt_mr_change {
	int flags;
	struct ib_pd *pd;
	u64 start;
	u64 len;
	u64 iova;
	int access;
};

static inline struct iwt_mr *to_iwt_mr(struct ib_mr *mr)
{
	return container_of(mr, struct iwt_mr, ibmr);
}

/*
 * Return: user address of a byte of a region of kind IWT_MR_ODP. @addr: tagged offset of the
 * byte, which must be within the region.
 */
static inline u64 iwt_mr_user_va(const struct iwt_mr *mr, u64 addr)
{
	return mr->user + (addr - mr->origin);
}

/*
 * Use of a region: iwt_mr_get() finds and locks the region. The caller then checks ->region with
 * iwt_access_check(), copies the bytes, and unlocks the region by iwt_mr_put(). A thread may hold
 * the lock of only one region at a time.
 */
struct iwt_mr *iwt_mr_get(struct iwt_dev *dev, u32 stag);
void iwt_mr_put(struct iwt_mr *mr);
u8 *iwt_mr_find_piece(const struct iwt_mr *mr, u64 addr, u32 max, u32 *len,
		      u32 *hint, bool write);
enum iwt_access_verdict iwt_mr_miss(const struct iwt_mr *mr,
				    struct iwt_fault *fault, u64 addr, u32 len,
				    bool write);

/**
 * struct iwt_hold - the region that an engine uses
 * @mr: region from iwt_mr_get(), or NULL
 * @hint: index of the extent of the last access
 * @fault: absent memory that this direction of the stream waits for
 *
 * The engine keeps the region for consecutive FPDUs that use the region. The engine releases the
 * region at the end of a step or a batch, before it locks another region, and before it calls a
 * function that locks a region for writing, such as iwt_stag_invalidate().
 */
struct iwt_hold {
	struct iwt_mr *mr;
	u32 hint;
	struct iwt_fault fault;
};

struct iwt_mr *iwt_hold_change(struct iwt_hold *h, struct iwt_dev *dev,
			       u32 stag);

/*
 * Any context but hard interrupts. Return: the region with the STag @stag, which @h now holds, or
 * NULL.
 */
static inline struct iwt_mr *iwt_hold_mr(struct iwt_hold *h,
					 struct iwt_dev *dev, u32 stag)
{
	if (h->mr && h->mr->stag == stag)
		return h->mr;
	return iwt_hold_change(h, dev, stag);
}

/* Release the region that a hold has, if any. Same context as iwt_hold_mr(). */
static inline void iwt_hold_drop(struct iwt_hold *h)
{
	if (h->mr)
		iwt_mr_put(h->mr);
	h->mr = NULL;
}

/**
 * iwt_mr_piece() - find the kernel memory of a part of a region
 * @mr: region from iwt_mr_get()
 * @addr: tagged offset of the first byte; the caller has checked the access to this byte
 * @max: maximum number of bytes
 * @len: set to the number of contiguous bytes, at most @max
 * @hint: index of the extent of the last call, 0 for the first call; set to the index of the
 *	extent that contains @addr
 * @write: the caller will write the bytes
 *
 * Bottom halves off, never sleeps.
 *
 * Return: address of the memory, or NULL: call iwt_mr_miss() for the reason.
 */
static inline u8 *iwt_mr_piece(const struct iwt_mr *mr, u64 addr, u32 max,
			       u32 *len, u32 *hint, bool write)
{
	const struct iwt_extent *e = &mr->map.ext[*hint];
	u32 i, end = min(*hint + 2, mr->map.n);
	u64 skip;

	/* consecutive calls usually need the extent of the last call, or the next extent */
	for (i = *hint; i < end; i++, e++) {
		skip = addr - mr->origin - e->off;
		if (skip < e->len) {
			*hint = i;
			*len = min_t(u64, max, e->len - skip);
			return e->va + skip;
		}
	}
	return iwt_mr_find_piece(mr, addr, max, len, hint, write);
}

/*
 * May TCP send the region's pages without a copy? Pages of a dma-buf belong to the exporter, and
 * a process may at any time lose pages that are not pinned. So engines copy from regions of these
 * two kinds.
 */
static inline bool iwt_mr_has_pages(const struct iwt_mr *mr)
{
	return mr->kind != IWT_MR_DMABUF && mr->kind != IWT_MR_ODP;
}

struct iwt_mr *iwt_mr_get_for_change(struct iwt_dev *dev, u32 stag);
void iwt_mr_put_changed(struct iwt_mr *mr);

/* Return: the rights (enum iwt_rights) of the remote flags in @access (enum ib_access_flags). */
static inline u32 iwt_remote_rights(int access)
{
	u32 rights = 0;

	if (access & IB_ACCESS_REMOTE_WRITE)
		rights |= IWT_REMOTE_WRITE;
	if (access & IB_ACCESS_REMOTE_READ)
		rights |= IWT_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		rights |= IWT_REMOTE_ATOMIC;
	return rights;
}

/*
 * Functions for work requests on regions. Bottom halves may be on or off; the functions never
 * sleep, and return IWT_OK or IWT_ERR_*.
 */
u32 iwt_mr_invalidate(struct iwt_mr *mr, u32 stag, const struct iwt_party *party,
		      bool remote);
u32 iwt_mr_register(struct iwt_dev *dev, u32 stag, const void *pd,
		    int access);

/* Functions for verbs. Process context, may sleep; iwt_mr_map_sg(): any context. */
struct iwt_mr *iwt_mr_create_user(struct ib_pd *pd, u64 start, u64 len,
				  u64 iova, int access);
int iwt_mr_rereg_user(struct iwt_mr *mr, const struct iwt_mr_change *change);
struct iwt_mr *iwt_mr_create_fast(struct ib_pd *pd, u32 max, bool gaps);
struct iwt_mr *iwt_mr_create_dma(struct ib_pd *pd, int access);
int iwt_mr_map_sg(struct iwt_mr *mr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset);
int iwt_mr_destroy(struct iwt_mr *mr);

/* mr_dmabuf.c */
#ifdef CONFIG_DMA_SHARED_BUFFER
struct iwt_mr *iwt_mr_create_dmabuf(struct ib_pd *pd, int fd, u64 off, u64 len,
				    u64 iova, int access);
#else
static inline struct iwt_mr *iwt_mr_create_dmabuf(struct ib_pd *pd, int fd, u64 off,
						  u64 len, u64 iova, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}
#endif

/* mr_odp.c, mr_prefetch.c */
#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
struct iwt_mr *iwt_mr_create_odp(struct ib_pd *pd, u64 start, u64 len,
				 u64 iova, int access);
int iwt_mr_prefetch(struct iwt_dev *dev, const struct ib_pd *pd,
		    const struct ib_sge *sge, enum iwt_odp_how how);
void iwt_mr_prefetch_begin(struct iwt_dev *dev);
void iwt_mr_prefetch_end(struct iwt_dev *dev);
#else
static inline struct iwt_mr *iwt_mr_create_odp(struct ib_pd *pd, u64 start, u64 len,
					       u64 iova, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline int iwt_mr_prefetch(struct iwt_dev *dev, const struct ib_pd *pd,
				  const struct ib_sge *sge, enum iwt_odp_how how)
{
	return -EOPNOTSUPP;
}

static inline void iwt_mr_prefetch_begin(struct iwt_dev *dev)
{
}

static inline void iwt_mr_prefetch_end(struct iwt_dev *dev)
{
}
#endif

#endif
