// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory that userspace maps: the rings.
 *
 * A mapping holds references to the pages, not to the object: when the device goes away, a
 * process keeps pages that nobody else uses.
 *
 * The kernel can't take the memory of a ring back. For devices whose rings are pinned memory of
 * a process, that memory is charged to the control group of the process and to its
 * RLIMIT_MEMLOCK. It is the same here: without the limit, a process without a control group
 * could take all memory, and when memory is short the kernel would not know whose it is.
 */
#include "mmap.h"

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dev.h"

static struct iwt_mmap *to_iwt_mmap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct iwt_mmap, entry);
}

/* Charge the account that ib_umem_get() charges for regions, as long as the object lives. */
static int charge(struct iwt_mmap *m)
{
	u64 pages = m->len >> PAGE_SHIFT;
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (atomic64_add_return(pages, &mm->pinned_vm) > limit &&
	    !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	m->mm = mm;
	return 0;
}

static void uncharge(struct iwt_mmap *m)
{
	atomic64_sub(m->len >> PAGE_SHIFT, &m->mm->pinned_vm);
	mmdrop(m->mm);
}

/**
 * iwt_mmap_alloc() - zeroed memory that a process may map
 * @uc: its context
 * @len: octets, rounded up to whole pages
 * @offset: set to the offset that the process has to pass to mmap()
 *
 * Charged to the memory control group and the RLIMIT_MEMLOCK of the calling process. Process
 * context, may sleep.
 *
 * Return: the object or an error pointer.
 */
struct iwt_mmap *iwt_mmap_alloc(struct ib_ucontext *uc, size_t len, u64 *offset)
{
	struct iwt_mmap *m = kzalloc_obj(*m, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->len = PAGE_ALIGN(len);
	ret = charge(m);
	if (ret)
		goto err_free;
	ret = -ENOMEM;
	m->mem = __vmalloc(m->len, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!m->mem)
		goto err_uncharge;
	ret = rdma_user_mmap_entry_insert(uc, &m->entry, m->len);
	if (ret)
		goto err_vfree;
	atomic64_add(m->len, &to_iwt_dev(uc->device)->rings);
	*offset = rdma_user_mmap_get_offset(&m->entry);
	return m;

err_vfree:
	vfree(m->mem);
err_uncharge:
	uncharge(m);
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

	atomic64_sub(m->len, &to_iwt_dev(entry->ucontext->device)->rings);
	vfree(m->mem);
	uncharge(m);
	kfree(m);
}

/*
 * As remap_vmalloc_range(), which takes only memory of vmalloc_user(); that can't be charged.
 */
static int map_pages(struct vm_area_struct *vma, const struct iwt_mmap *m)
{
	size_t off;
	int ret;

	if (vma->vm_end - vma->vm_start != m->len)
		return -EINVAL;
	for (off = 0; off < m->len; off += PAGE_SIZE) {
		ret = vm_insert_page(vma, vma->vm_start + off,
				     vmalloc_to_page(m->mem + off));
		if (ret)
			return ret;
	}
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

/**
 * iwt_mmap() - ib_device operation mmap
 * @uc: context of the process
 * @vma: mapping; its offset names the object, and it has to cover the whole object
 *
 * Process context, may sleep.
 *
 * Return: 0 or -errno.
 */
int iwt_mmap(struct ib_ucontext *uc, struct vm_area_struct *vma)
{
	/* this checks that the mapping is shared and has the right size */
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(uc, vma);
	int ret;

	if (!entry)
		return -EINVAL;
	ret = map_pages(vma, to_iwt_mmap(entry));
	rdma_user_mmap_entry_put(entry);
	return ret;
}
