/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_COUNTER_OBJ_H
#define COMPAT_COUNTER_OBJ_H

/* The core allocates its own structure. */
#define COMPAT_COUNTER_OBJ

#include_next <compat/ib_ops.h>

#endif
