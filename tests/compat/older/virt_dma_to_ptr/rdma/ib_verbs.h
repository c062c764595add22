/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
#define ib_virt_dma_to_ptr newer_ib_virt_dma_to_ptr
#include_next <rdma/ib_verbs.h>
#undef ib_virt_dma_to_ptr
#endif
