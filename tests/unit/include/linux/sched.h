/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_SCHED_H
#define IWT_SHIM_SCHED_H

#include "kernel.h"

#define cond_resched()	moment()

#endif
