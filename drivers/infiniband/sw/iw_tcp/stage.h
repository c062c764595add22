/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that FPDUs are framed in. TCP takes it by reference; what has been
 * acknowledged and read is used again while it is still in the cache, without
 * a page being freed, cleared and allocated.
 */
#ifndef IWT_STAGE_H
#define IWT_STAGE_H

#include <linux/types.h>

#include <asm/page.h>

struct page;

/* Octets of a stage, unless memory is short. */
#define IWT_STAGE_SIZE		(32 << 10)
/* Octets of one for little: a batch that is left in it keeps no more than that. */
#define IWT_STAGE_SMALL		PAGE_SIZE

/**
 * struct iwt_stage - memory that one engine at a time frames in
 * @page: its page; who hands octets on takes a reference
 * @off: first octet that was never handed out, or not since the page came back
 * @size: octets of the page
 * @order: of the page that is wanted
 * @home: where it is kept
 */
struct iwt_stage {
	struct page *page;
	u32 off;
	u32 size;
	u32 order;
	struct iwt_stage **home;
};

int iwt_stage_init(void);
void iwt_stage_exit(void);
struct iwt_stage *iwt_stage_get(u32 min, bool small);
void iwt_stage_put(struct iwt_stage *st);

static inline u32 iwt_stage_room(const struct iwt_stage *st)
{
	return st->size - st->off;
}

#endif
