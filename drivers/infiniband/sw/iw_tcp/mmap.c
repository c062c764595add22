// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory that userspace maps: the rings.
 *
 * A mapping holds references to the pages, not to the object: when the device
 * goes away below a process, the process keeps pages that nobody else uses.
 */
#include "mmap.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

static struct iwt_mmap *to_iwt_mmap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct iwt_mmap, entry);
}

/**
 * iwt_mmap_alloc() - zeroed memory that a process may map
 * @uc: its context
 * @len: octets, rounded up to whole pages
 * @offset: set to what it has to pass to mmap()
 *
 * Process context, may sleep.
 *
 * Return: the object or an error pointer.
 */
struct iwt_mmap *iwt_mmap_alloc(struct ib_ucontext *uc, size_t len, u64 *offset)
{
	struct iwt_mmap *m = kzalloc_obj(*m, GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->len = PAGE_ALIGN(len);
	m->mem = vmalloc_user(m->len);
	if (!m->mem)
		goto err_free;
	ret = rdma_user_mmap_entry_insert(uc, &m->entry, m->len);
	if (ret)
		goto err_vfree;
	*offset = rdma_user_mmap_get_offset(&m->entry);
	return m;

err_vfree:
	vfree(m->mem);
err_free:
	kfree(m);
	return ERR_PTR(ret);
}

/**
 * iwt_mmap_free() - end of the object; the kernel must not use it any more
 * @m: object, or NULL
 *
 * Process context, may sleep.
 */
void iwt_mmap_free(struct iwt_mmap *m)
{
	if (m)
		rdma_user_mmap_entry_remove(&m->entry);
}

/**
 * iwt_mmap_entry_free() - ib_device operation mmap_free: nobody is left
 * @entry: part of the object
 */
void iwt_mmap_entry_free(struct rdma_user_mmap_entry *entry)
{
	struct iwt_mmap *m = to_iwt_mmap(entry);

	vfree(m->mem);
	kfree(m);
}

/**
 * iwt_mmap() - ib_device operation mmap
 * @uc: context of the process
 * @vma: what it wants; the offset names the object, which is mapped whole
 *
 * Process context, may sleep. Return: 0 or -errno.
 */
int iwt_mmap(struct ib_ucontext *uc, struct vm_area_struct *vma)
{
	/* checks that the mapping is shared and has the right size */
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(uc, vma);
	int ret;

	if (!entry)
		return -EINVAL;
	ret = remap_vmalloc_range(vma, to_iwt_mmap(entry)->mem, 0);
	rdma_user_mmap_entry_put(entry);
	return ret;
}
