/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_SLAB_H
#define OLDER_LINUX_SLAB_H
#include_next <linux/slab.h>
#undef kmalloc_obj
#undef kzalloc_obj
#undef kmalloc_objs
#undef kzalloc_objs
#undef kvmalloc_objs
#undef kvzalloc_objs
#undef kmalloc_flex
#undef kzalloc_flex
#endif
