/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_RDMA_IB_CACHE_H
#define UNIT_RDMA_IB_CACHE_H

#include "dev.h"

#endif
