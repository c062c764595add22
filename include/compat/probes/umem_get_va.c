// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_umem.h>

static inline struct ib_umem *probe(struct ib_device *ibdev)
{
	return ib_umem_get_va(ibdev, 0, 1, 0);
}
