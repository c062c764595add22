/* SPDX-License-Identifier: GPL-2.0 */
/* This kernel lacks vm_flags_set(). */
#ifndef COMPAT_LINUX_VM_FLAGS_SET_H
#define COMPAT_LINUX_VM_FLAGS_SET_H

#include_next <linux/mm.h>

static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

#endif
