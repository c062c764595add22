// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>

#if !defined(kzalloc_obj) || !defined(kvzalloc_objs) || !defined(kzalloc_flex)
#error missing
#endif
