/* SPDX-License-Identifier: GPL-2.0 */
/* Access to the memory of scatter/gather lists, with all checks. */
#ifndef IWT_MR_SGL_H
#define IWT_MR_SGL_H

#include <linux/types.h>
#include <rdma/iw_tcp-abi.h>

#include "proto/access.h"
#include "proto/atomic.h"

struct iwt_dev;
struct iwt_fault;
struct iwt_hold;

/* The lkey that gives kernel consumers access to all kernel addresses. */
#define IWT_LOCAL_DMA_LKEY	0

/*
 * PD and stream for which memory is accessed; @kernel: the consumer is a part of the kernel. The
 * address of @party identifies the stream, so a copy of this structure does not have the stream's
 * rights to windows of type 2.
 */
struct iwt_actor {
	struct iwt_dev *dev;
	struct iwt_party party;
	bool kernel;
};

/* Is the key the local DMA lkey of a kernel consumer? */
static inline bool iwt_is_kernel_va(const struct iwt_actor *actor, u32 lkey)
{
	return actor->kernel && lkey == IWT_LOCAL_DMA_LKEY;
}

/**
 * struct iwt_sgl_pos - place in a scatter/gather list
 * @i: index of the element
 * @off: offset of the byte in the element
 */
struct iwt_sgl_pos {
	u32 i;
	u32 off;
};

/**
 * struct iwt_place - a place in a scatter/gather list, and the data that an access needs
 * @actor: PD and stream for which memory is accessed
 * @hold: holds the region of the present element, and has the fault for absent memory
 * @sge: private copy of the list
 * @n: number of elements of @sge
 * @need: rights that the access needs (enum iwt_rights)
 * @pos: place in the list
 */
struct iwt_place {
	const struct iwt_actor *actor;
	struct iwt_hold *hold;
	const struct iwt_sge *sge;
	u32 n;
	u32 need;
	struct iwt_sgl_pos pos;
};

enum iwt_access_verdict iwt_sgl_check(const struct iwt_actor *actor,
				      const struct iwt_sge *sge, u32 n, u32 need);
enum iwt_access_verdict iwt_sgl_piece(struct iwt_place *at, u8 **piece, u32 *len);
enum iwt_access_verdict iwt_sgl_scatter(struct iwt_place *at, const u8 *from, u32 len, u32 left);
enum iwt_access_verdict iwt_mem_piece(const struct iwt_place *at, u32 stag, u64 addr, u8 **piece,
				      u32 *len);
u32 iwt_mem_atomic(const struct iwt_actor *actor, const struct iwt_atomic *a,
		   u64 *old, struct iwt_fault *fault);

#endif
