/* SPDX-License-Identifier: GPL-2.0 */
/* Per-CPU variables for one processor */
#ifndef IWT_SHIM_PERCPU_H
#define IWT_SHIM_PERCPU_H

#include "kernel.h"

#define __percpu
#define alloc_percpu_gfp(type, gfp)	((type *)unit_alloc(sizeof(type)))
#define free_percpu(memory)		unit_free(memory)
#define this_cpu_add(counter, n)	((void)((counter) += (n)))

#endif
