/* SPDX-License-Identifier: GPL-2.0 */
/* ib_device operations on memory regions. */
#ifndef IWT_VERBS_MR_H
#define IWT_VERBS_MR_H

#include <rdma/ib_verbs.h>

struct ib_dmah;

struct ib_mr *iwt_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *iwt_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			      int access, struct ib_dmah *dmah,
			      struct ib_udata *udata);
struct ib_mr *iwt_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg);
int iwt_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset);
int iwt_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif
