/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_SLAB_H
#define IWT_SHIM_SLAB_H

#include "kernel.h"

#define GFP_KERNEL_ACCOUNT	0

#define kzalloc_obj(object, gfp)	((void)(gfp), (__typeof__(object) *)unit_alloc(sizeof(object)))
#define kfree(memory)			unit_free(memory)
#define kfree_rcu(memory, member)	unit_free_later(memory)

#endif
