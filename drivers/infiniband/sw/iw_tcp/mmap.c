// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory that userspace maps: the rings.
 *
 * A mapping has references to the pages of a ring, not to the struct iwt_mmap of the ring. So
 * when the device is removed, a process keeps the pages, and nobody else uses them.
 *
 * The kernel can't reclaim the memory of a ring. With some other drivers the rings are pinned
 * memory of a process. This memory is charged to the memory control group of the process, and
 * RLIMIT_MEMLOCK of the process limits this memory. iw_tcp charges and limits its rings in the
 * same way. Without the limit, a process that is in no control group could allocate all memory.
 * Without the charge, the kernel would not know, when memory is short, which control group uses
 * the memory of the rings.
 *
 * Regions are charged to the process that registers them. A ring may outlive the process that
 * created the ring: another process may have the uverbs file descriptor, or may have mapped the
 * ring. So a ring is also charged to the user, like the rings of io_uring and perf, as locked
 * memory of the user (user_struct.locked_vm). When a process creates a ring, the locked memory of
 * the user must not exceed the RLIMIT_MEMLOCK of the process.
 *
 * The driver no longer uses a ring when the verbs object of the ring has been destroyed, or when
 * a resize has replaced the ring. Nevertheless the driver keeps the ring, and the charge, as long
 * as anybody else has a reference to one of the pages: a process that still has the ring mapped,
 * a child of that process, or a pipe. No callback reports when the last page is released: a
 * callback of the mapping would be code of this module, and the module could not be unloaded
 * while the mapping exists. So the driver checks the kept rings periodically: all of them every
 * second and before the driver refuses a ring or a region, and some of them at each allocation.
 */
#include "mmap.h"

#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dev.h"
#include "memlock.h"

/* Period of the check of the kept rings, in jiffies. */
#define LOOK_PERIOD	HZ
/* Maximum number of kept rings to check at each allocation of a ring. */
#define LOOK_AT		64

/*
 * Kept rings: the driver no longer uses these rings, but somebody else still has references to
 * the pages. kept_lock guards the list, and may be taken inside mmap_lock.
 */
static DEFINE_MUTEX(kept_lock);
static LIST_HEAD(kept);

/*
 * A task holds this semaphore for reading while it ends charges of kept rings, or charges a ring,
 * and for writing before it refuses memory because of a limit. Then no other task has taken a
 * ring off the list whose charge has not ended yet, or has made a charge that it takes back. It
 * is taken outside kept_lock, and not inside mmap_lock.
 */
static DECLARE_RWSEM(charging);

static struct iwt_mmap *to_iwt_mmap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct iwt_mmap, entry);
}

/*
 * Add @pages to the locked memory of the user, as io_uring and perf do. Return: true; false,
 * without a change, if the sum would exceed @limit, in pages.
 */
static bool charge_user(struct user_struct *user, unsigned long pages, unsigned long limit)
{
	long was = atomic_long_read(&user->locked_vm);

	do {
		if (was + pages > limit)
			return false;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &was, was + pages));
	return true;
}

/*
 * Add @pages to the pinned memory of the process, as ib_umem_get_va() does for regions. Return:
 * true; false, without a change, if the sum would exceed @limit, in pages.
 */
static bool charge_mm(struct mm_struct *mm, unsigned long pages, unsigned long limit)
{
	s64 was = atomic64_read(&mm->pinned_vm);

	do {
		if (was + pages > limit)
			return false;
	} while (!atomic64_try_cmpxchg(&mm->pinned_vm, &was, was + pages));
	return true;
}

/*
 * Charge a ring to the calling process and to its user. A ring of a process with CAP_IPC_LOCK is
 * not charged to the user, because such a ring must not reduce the memory that other processes of
 * the user may lock. Return: 0 or -ENOMEM.
 */
static int charge(struct iwt_mmap *m)
{
	bool may_all = iwt_memlock_unlimited();
	unsigned long limit = may_all ? ULONG_MAX : iwt_memlock_limit();
	unsigned long pages = m->len >> PAGE_SHIFT;
	struct user_struct *user = may_all ? NULL : current_user();

	if (!charge_mm(current->mm, pages, limit))
		return -ENOMEM;
	if (user && !charge_user(user, pages, limit)) {
		atomic64_sub(pages, &current->mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(current->mm);
	m->mm = current->mm;
	/*
	 * take a reference to the credentials: not every kernel exports a function that takes a
	 * reference to a struct user_struct alone
	 */
	m->cred = user ? get_current_cred() : NULL;
	return 0;
}

static void uncharge(struct iwt_mmap *m)
{
	unsigned long pages = m->len >> PAGE_SHIFT;

	atomic64_sub(pages, &m->mm->pinned_vm);
	mmdrop(m->mm);
	if (!m->cred)
		return;
	atomic_long_sub(pages, &m->cred->user->locked_vm);
	put_cred(m->cred);
}

static void mmap_end(struct iwt_mmap *m)
{
	vfree(m->mem);
	uncharge(m);
	kfree(m);
}

/*
 * Does anybody except the driver have a reference to a page of the ring? The ring has no mmap
 * offset any more, so a page to which only the driver has a reference can't be mapped again. Such
 * a page need not be checked again: m->looked counts the bytes of these pages.
 */
static bool is_used(struct iwt_mmap *m)
{
	for (; m->looked < m->len; m->looked += PAGE_SIZE)
		if (page_count(vmalloc_to_page(m->mem + m->looked)) > 1)
			return true;
	return false;
}

/*
 * Check up to @most of the kept rings, least recently checked first. Free each ring if only the
 * driver has references to the pages. The caller holds the semaphore charging. Return: true if
 * kept rings are left.
 */
static bool look(unsigned int most)
{
	struct iwt_mmap *m, *next;
	LIST_HEAD(used);
	LIST_HEAD(over);
	bool left;

	mutex_lock(&kept_lock);
	list_for_each_entry_safe(m, next, &kept, node) {
		if (!most--)
			break;
		list_move_tail(&m->node, is_used(m) ? &used : &over);
		cond_resched();
	}
	list_splice_tail(&used, &kept);
	left = !list_empty(&kept);
	mutex_unlock(&kept_lock);
	list_for_each_entry_safe(m, next, &over, node)
		mmap_end(m);
	return left;
}

static void do_look(struct work_struct *work);
static DECLARE_DELAYED_WORK(look_work, do_look);

static void do_look(struct work_struct *work)
{
	bool left;

	down_read(&charging);
	left = look(UINT_MAX);
	up_read(&charging);
	if (left)
		schedule_delayed_work(&look_work, LOOK_PERIOD);
}

static void keep(struct iwt_mmap *m)
{
	mutex_lock(&kept_lock);
	list_add_tail(&m->node, &kept);
	mutex_unlock(&kept_lock);
	schedule_delayed_work(&look_work, LOOK_PERIOD);
}

/**
 * iwt_mmap_uncharge_released() - end the charges of all rings that nobody uses any more
 *
 * Call this function before you refuse memory because of RLIMIT_MEMLOCK. Process context, may
 * sleep; the caller must not hold the mmap_lock.
 */
void iwt_mmap_uncharge_released(void)
{
	down_write(&charging);
	look(UINT_MAX);
	up_write(&charging);
}

/*
 * Charge a ring. This function first checks some of the kept rings, and all of them before it
 * refuses the charge. Return: 0 or -ENOMEM.
 */
static int charge_or_look(struct iwt_mmap *m)
{
	int err;

	down_read(&charging);
	look(LOOK_AT);
	err = charge(m);
	up_read(&charging);
	if (!err)
		return 0;
	down_write(&charging);
	look(UINT_MAX);
	err = charge(m);
	up_write(&charging);
	return err;
}

/**
 * iwt_mmap_alloc() - allocate zeroed memory that a process may map
 * @uc: context of the process
 * @len: size in bytes, rounded up to whole pages
 * @offset: set to the offset that the process has to pass to mmap()
 *
 * The memory is charged to the memory control group of the calling process, and counts as pinned
 * memory of the process. If the process does not have CAP_IPC_LOCK, the memory also counts as
 * locked memory of the user. In this case neither the pinned memory of the process nor the locked
 * memory of the user may exceed RLIMIT_MEMLOCK. Process context, may sleep.
 *
 * Return: the object, or an error pointer: -ENOMEM, also if a limit would be exceeded, or another
 * error of rdma_user_mmap_entry_insert().
 */
struct iwt_mmap *iwt_mmap_alloc(struct ib_ucontext *uc, size_t len, u64 *offset)
{
	struct iwt_mmap *m = kzalloc_obj(*m, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->len = PAGE_ALIGN(len);
	ret = charge_or_look(m);
	if (ret) {
		iwt_memlock_refused(to_iwt_dev(uc->device));
		goto err_free;
	}
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
 * iwt_mmap_free() - release an object, so that no process can map it any more
 * @m: object, or NULL; the driver does not use the memory of the object any more
 *
 * The memory is freed when no process maps the memory any more, and nobody else has a reference
 * to one of its pages.
 *
 * Process context, may sleep.
 */
void iwt_mmap_free(struct iwt_mmap *m)
{
	if (m)
		rdma_user_mmap_entry_remove(&m->entry);
}

/**
 * iwt_mmap_entry_free() - ib_device operation mmap_free: free a ring, or keep it while in use
 * @entry: member of the struct iwt_mmap
 *
 * May sleep. The mmap_lock may be held.
 */
void iwt_mmap_entry_free(struct rdma_user_mmap_entry *entry)
{
	struct iwt_mmap *m = to_iwt_mmap(entry);

	atomic64_sub(m->len, &to_iwt_dev(entry->ucontext->device)->rings);
	if (is_used(m))
		keep(m);
	else
		mmap_end(m);
}

/**
 * iwt_mmap_exit() - end all charges at module unload, when no device is left
 *
 * Afterwards a ring that a process still has mapped is charged only to the control group. May
 * sleep.
 */
void iwt_mmap_exit(void)
{
	struct iwt_mmap *m, *next;

	cancel_delayed_work_sync(&look_work);
	list_for_each_entry_safe(m, next, &kept, node)
		mmap_end(m);
}

/*
 * Map all pages, as remap_vmalloc_range() does. That function accepts only memory from
 * vmalloc_user(), and vmalloc_user() can't charge its memory to a control group. Return: 0 or
 * -errno.
 */
static int mmap_pages(struct vm_area_struct *vma, const struct iwt_mmap *m)
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
 * @vma: mapping; its offset selects the object, and the mapping has to cover the whole object
 *
 * Process context, may sleep; the caller holds the mmap_lock.
 *
 * Return: 0; -EINVAL if no object has the offset, or if the mapping is private or has another
 * size than the object; or an error of vm_insert_page().
 */
int iwt_mmap(struct ib_ucontext *uc, struct vm_area_struct *vma)
{
	/* rdma_user_mmap_entry_get() also refuses a private mapping, and a wrong size */
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(uc, vma);
	int ret;

	if (!entry)
		return -EINVAL;
	ret = mmap_pages(vma, to_iwt_mmap(entry));
	rdma_user_mmap_entry_put(entry);
	return ret;
}
