/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stub of rx_priv.h: the members that rx_alike.c uses of a stream, a receive, a Read and a
 * region, for the build in user space. A region is one piece of memory.
 */
#ifndef UNIT_RX_PRIV_H
#define UNIT_RX_PRIV_H

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "access.h"
#include "ddp.h"
#include "fpdu.h"

#define __must_hold(lock)
#define lockdep_assert_held(lock)
#ifndef U32_MAX
#define U32_MAX UINT32_MAX
#endif

struct iwt_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct iwt_rwqe {
	u64 len;
	u32 num_sge;
	struct iwt_sge sge[16];
};

struct iwt_actor {
	struct iwt_party party;
	bool kernel;
};

struct iwt_mr {
	u32 stag;
	struct iwt_region region;
	u8 *octets;
	u32 present;	/* number of bytes of the region that exist */
};

struct iwt_hold {
	struct iwt_mr *mr;
	u32 hint;
};

struct iwt_sgl_pos {
	u32 i;
	u32 off;
};

struct iwt_read_out {
	struct iwt_sge sink;
	u32 got;
};

struct iwt_readq {
	struct iwt_read_out out;
};

struct iwt_rx {
	struct iwt_fpdu_rules rules;
	struct iwt_hold hold;
	struct iwt_rwqe *recv;
	struct iwt_sgl_pos recv_pos;
	bool recv_open;
	struct iwt_ddp_rxq q[IWT_QN_COUNT];
};

struct iwt_stream {
	struct iwt_rx rx;
	struct iwt_actor actor;
	struct iwt_actor receiver;
	struct iwt_readq readq;
	u32 written;
};

static inline u32 iwt_rx_recv_room(const struct iwt_rx *rx)
{
	return min_t(u64, rx->recv->len, U32_MAX);
}

static inline struct iwt_read_out *iwt_readq_oldest(struct iwt_readq *q)
{
	return &q->out;
}

static inline bool iwt_is_kernel_va(const struct iwt_actor *who, u32 lkey)
{
	return who->kernel && !lkey;
}

/* Defined by rx_alike_test.c: end of the range that the last call of iwt_mr_piece() requested */
extern u64 asked_end;

static inline u8 *iwt_mr_piece(const struct iwt_mr *mr, u64 addr, u32 max, u32 *len, u32 *hint,
			       bool write)
{
	u64 off = addr - mr->region.base;

	(void)hint;
	(void)write;
	*len = off < mr->present ? min_t(u64, max, mr->present - off) : 0;
	asked_end = addr + max;
	return *len ? mr->octets + off : NULL;
}

static inline void iwt_rx_note_write(struct iwt_stream *st, const struct iwt_fpdu *f, u32 len)
{
	(void)f;
	st->written += len;
}

/* Defined by rx_alike_test.c: calls iwt_fpdu_alike(), and counts the checked headers */
u32 counted_alike(const struct iwt_cursor *at, u32 avail, u32 most, const struct iwt_fpdu *f);
#ifndef UNIT_COUNTS
#define iwt_fpdu_alike counted_alike
#endif

u32 iwt_rx_alike(struct iwt_stream *st, struct iwt_fpdu *f, const struct iwt_cursor *at, u32 max);

#endif
