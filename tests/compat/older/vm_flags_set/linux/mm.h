/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_MM_H
#define OLDER_LINUX_MM_H
/* Newer kernels have a const member vm_flags, which only functions write */
#define vm_flags_set newer_vm_flags_set
#include_next <linux/mm.h>
#undef vm_flags_set
/* any member that is not const */
#define vm_flags vm_pgoff
#endif
