/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_RDMA_IB_VERBS_H
#define UNIT_RDMA_IB_VERBS_H

#include "dev.h"

#endif
