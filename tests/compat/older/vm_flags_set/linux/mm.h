/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_MM_H
#define OLDER_LINUX_MM_H
/* In newer kernels the member vm_flags is const, and drivers call vm_flags_set() to change it */
#define vm_flags_set newer_vm_flags_set
#include_next <linux/mm.h>
#undef vm_flags_set
/* The overlay assigns to vm_flags: use a member that is not const, so that the overlay compiles */
#define vm_flags vm_pgoff
#endif
