// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

static inline void *probe(u64 addr)
{
	return ib_virt_dma_to_ptr(addr);
}
