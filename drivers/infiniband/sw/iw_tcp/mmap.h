/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel memory that userspace maps: the rings. */
#ifndef IWT_MMAP_H
#define IWT_MMAP_H

#include <rdma/ib_verbs.h>

/**
 * struct iwt_mmap - one mappable object
 * @entry: by this member, the RDMA core finds the object for the offset of a mapping
 * @mem: memory from __vmalloc(); while a page is mapped, the page exists even after @mem is freed
 * @len: size in bytes, page aligned
 * @mm: address space of the process that created the object; its pinned memory includes @len
 * @cred: credentials of the user; the locked memory of the user includes @len. NULL if the
 *	process had CAP_IPC_LOCK
 * @node: entry in the list of kept rings, which the driver does not use any more (mmap.c)
 * @looked: of a kept ring: the pages of the first @looked bytes are not checked again, because
 *	only the driver has references to these pages
 */
struct iwt_mmap {
	struct rdma_user_mmap_entry entry;
	void *mem;
	size_t len;
	struct mm_struct *mm;
	const struct cred *cred;
	struct list_head node;
	size_t looked;
};

struct iwt_mmap *iwt_mmap_alloc(struct ib_ucontext *uc, size_t len, u64 *offset);
void iwt_mmap_free(struct iwt_mmap *m);
int iwt_mmap(struct ib_ucontext *uc, struct vm_area_struct *vma);
void iwt_mmap_entry_free(struct rdma_user_mmap_entry *entry);
void iwt_mmap_uncharge_released(void);
void iwt_mmap_exit(void);

#endif
