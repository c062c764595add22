/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging: a table of the pages of a process that are present. An MMU notifier removes
 * pages that the process loses. The pages are not pinned.
 */
#ifndef IWT_MR_ODP_PAGES_H
#define IWT_MR_ODP_PAGES_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct iwt_dev;
struct iwt_odp;
struct mm_struct;

/* Actions of iwt_odp_fill(). */
enum iwt_odp_how {
	IWT_ODP_READ,		/* make pages present for reading */
	IWT_ODP_WRITE,		/* make pages present for writing */
	IWT_ODP_NO_FAULT,	/* enter present pages into the table; no page faults */
};

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING

struct iwt_odp *iwt_odp_new(struct iwt_dev *dev, void (*gone)(void *arg),
			    void *arg, gfp_t gfp);
void iwt_odp_end(struct iwt_odp *odp);
void iwt_odp_free(struct iwt_odp *odp);
void iwt_odp_use(struct iwt_odp *odp);
void iwt_odp_leave(struct iwt_odp *odp);
u8 *iwt_odp_piece(struct iwt_odp *odp, u64 va, u32 max, u32 *len, bool write);
int iwt_odp_fill(struct iwt_odp *odp, u64 va, u64 len, enum iwt_odp_how how);
/* Is @odp a table of the address space @mm? */
bool iwt_odp_is_of(const struct iwt_odp *odp, const struct mm_struct *mm);

#else

static inline void iwt_odp_use(struct iwt_odp *odp)
{
}

static inline void iwt_odp_leave(struct iwt_odp *odp)
{
}

static inline u8 *iwt_odp_piece(struct iwt_odp *odp, u64 va, u32 max, u32 *len,
				bool write)
{
	*len = 0;
	return NULL;
}

#endif

#endif
