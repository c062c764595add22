/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stub of rx_priv.h: what rx_place.c uses of a stream, a Read and a region, for the build in user
 * space. A device has one region, whose pages have 256 octets.
 */
#ifndef UNIT_PLACE_RX_PRIV_H
#define UNIT_PLACE_RX_PRIV_H

#include <stdlib.h>

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "access.h"
#include "ddp.h"
#include "fpdu.h"
#include "rdmap.h"

#define __must_hold(lock)
#define lockdep_assert_held(lock)
#define atomic_read(value)		(*(value))
#define atomic_inc_return(value)	(++*(value))
#define cmpxchg(at, was, now)		__sync_val_compare_and_swap(at, was, now)
#define kmalloc_obj(type, gfp)		((type *)malloc(sizeof(type)))
#ifndef U32_MAX
#define U32_MAX UINT32_MAX
#endif

typedef int gfp_t;

struct iwt_ahead;

enum iwt_mr_kind { IWT_MR_USER, IWT_MR_FAST, IWT_MR_ODP };

struct iwt_mr {
	u32 stag;
	enum iwt_mr_kind kind;
	struct iwt_region region;
	u32 windows;
	u8 *octets;
};

struct iwt_dev {
	u32 mr_touches;
	struct iwt_mr mr;
};

struct iwt_hold {
	struct iwt_mr *mr;
};

struct iwt_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct iwt_read_out {
	struct iwt_sge sink;
	u32 got;
	u32 msn;
	bool atomic;
	bool rtr;
};

struct iwt_readq {
	struct iwt_read_out out;
	u32 out_n;
};

struct iwt_actor {
	struct iwt_party party;
};

struct iwt_rx {
	struct iwt_fpdu_rules rules;
	struct iwt_hold hold;
	struct iwt_ahead *place;
	u32 pos;
	u64 octets;
	u32 answered;
	bool place_stop;
	bool discard;
	bool stalled;
};

struct iwt_stream {
	struct iwt_dev *dev;
	void *sock;
	struct iwt_actor actor;
	struct iwt_rx rx;
	struct iwt_readq readq;
	u32 rights;
	u32 counts[2];
};

enum { IWT_C_RX_AHEAD, IWT_C_RX_AHEAD_KEPT };

struct iwt_sock_cursor {
	struct iwt_cursor c;
};

static inline void iwt_stream_count(struct iwt_stream *st, int counter)
{
	st->counts[counter]++;
}

static inline struct iwt_read_out *iwt_readq_oldest(struct iwt_readq *q)
{
	return q->out_n ? &q->out : NULL;
}

static inline struct iwt_mr *iwt_hold_mr(struct iwt_hold *h, struct iwt_dev *dev, u32 stag)
{
	h->mr = dev->mr.stag == stag ? &dev->mr : NULL;
	return h->mr;
}

static inline void iwt_hold_drop(struct iwt_hold *h)
{
	h->mr = NULL;
}

static inline u8 *iwt_mr_piece(const struct iwt_mr *mr, u64 addr, u32 max, u32 *len, u32 *hint,
			       bool write)
{
	(void)hint;
	(void)write;
	*len = min_t(u32, max, 256 - (addr - mr->region.base) % 256);
	return mr->octets + (addr - mr->region.base);
}

void iwt_rx_place_ahead(struct iwt_stream *st);
struct iwt_ahead *iwt_rx_place_new(gfp_t gfp);
void iwt_rx_place_begin(struct iwt_stream *st, struct iwt_ahead *a);
enum iwt_fpdu_status iwt_rx_read_placing(struct iwt_stream *st, struct iwt_fpdu *f,
					 struct iwt_sock_cursor *at, u32 left, u32 *err);

#endif
