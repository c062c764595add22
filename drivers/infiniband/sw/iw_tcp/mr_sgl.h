/* SPDX-License-Identifier: GPL-2.0 */
/* Octets between scatter/gather lists and linear memory, with every check. */
#ifndef IWT_MR_SGL_H
#define IWT_MR_SGL_H

#include <linux/types.h>
#include <rdma/iw_tcp-abi.h>

#include "proto/access.h"
#include "proto/atomic.h"

struct iwt_dev;
struct iwt_fault;
struct iwt_hold;

/* The lkey by which kernel consumers name any kernel address. */
#define IWT_LOCAL_DMA_LKEY	0

/* In whose name memory is accessed, and whether that is the kernel. Not to be copied. */
struct iwt_actor {
	struct iwt_dev *dev;
	struct iwt_party party;
	bool kernel;
};

/* Does the key give a kernel consumer all of the kernel's memory? */
static inline bool iwt_is_kernel_va(const struct iwt_actor *who, u32 lkey)
{
	return who->kernel && lkey == IWT_LOCAL_DMA_LKEY;
}

/**
 * struct iwt_sgl_pos - place in a list
 * @i: element
 * @off: octet within it
 */
struct iwt_sgl_pos {
	u32 i;
	u32 off;
};

enum iwt_access_verdict iwt_sgl_check(const struct iwt_actor *who,
				      const struct iwt_sge *sge, u32 n, u32 need);
enum iwt_access_verdict iwt_sgl_piece(const struct iwt_actor *who,
				      struct iwt_hold *hold,
				      const struct iwt_sge *sge, u32 n,
				      struct iwt_sgl_pos *pos, u32 need,
				      u8 **piece, u32 *len);
enum iwt_access_verdict iwt_sgl_scatter(const struct iwt_actor *who,
					struct iwt_hold *hold,
					const struct iwt_sge *sge, u32 n,
					struct iwt_sgl_pos *pos, const u8 *from,
					u32 len, u32 left);
enum iwt_access_verdict iwt_mem_piece(const struct iwt_actor *who,
				      struct iwt_hold *hold, u32 stag,
				      u64 addr, u32 max, u32 need, u8 **piece,
				      u32 *len);
u32 iwt_mem_atomic(const struct iwt_actor *who, const struct iwt_atomic *a,
		   u64 *old, struct iwt_fault *fault);

#endif
