// SPDX-License-Identifier: GPL-2.0
/*
 * Resize of completion queues.
 *
 * Only the entries move, into separate memory. The control words and the bits of deferred posts
 * stay in the first mapping. So the process may poll, arm and post as usual while its queue is
 * resized: no event and no post can be lost. If the entries of the first mapping are enough,
 * the queue moves back to them.
 *
 * A process moves in three steps. The kernel must not wait for the process in between.
 *
 * 1. The resize command: iwt_cq_resize() allocates the new entries. From now on the kernel writes
 *    each completion to the old and to the new entries, and the number of entries in use is
 *    limited to the smaller of both sizes.
 * 2. The process maps the new entries, copies the completions that it has not taken, and reads
 *    the new entries from now on. During this step the process holds a lock of its own, because
 *    its other threads may poll. The kernel never reads an entry of a process, so wrong copies
 *    can't harm the kernel.
 * 3. The method IWT_METHOD_CQ_RESIZED: from now on the kernel writes completions only to the new
 *    entries. iwt_cq_resized() frees the old entries. If step 2 failed, the process reports the
 *    failure, and the kernel frees the new entries instead.
 *
 * tests/unit/resize_model.py tries all orders of these steps. If a process never performs step 3,
 * the kernel keeps writing each completion of that queue twice, which does not harm other
 * processes.
 */
#include "cq.h"

#include <linux/log2.h>

#include <compat/ib_ops.h>

#include "dev.h"
#include "mmap.h"

/* Return: the part that follows the control words of the ring, in the first mapping. */
static struct iwt_cq_part first_part(const struct iwt_cq *cq)
{
	return (struct iwt_cq_part) {
		.ent = (u8 *)cq->ring.ctl + IWT_RING_CTL_SIZE,
		.mask = cq->first - 1,
	};
}

/* May sleep. */
static void free_part(struct iwt_cq_part *part)
{
	iwt_mmap_free(part->map);
	vfree(part->compat_mem);
	*part = (struct iwt_cq_part) {};
}

static int compat_alloc_part(struct iwt_cq_part *part, size_t bytes)
{
	part->compat_mem = vzalloc(bytes);
	part->ent = part->compat_mem;
	return part->ent ? 0 : -ENOMEM;
}

/*
 * Set @part to memory of @entries entries. If the memory is separate, set *@offset to the offset
 * that the process has to pass to mmap(). May sleep. Return: 0 or -errno.
 */
static int alloc_part(const struct iwt_cq *cq, struct iwt_cq_part *part, struct ib_ucontext *uc,
		      u32 entries, u64 *offset)
{
	size_t bytes = (size_t)entries * cq->ring.stride;

	if (entries == cq->first) {
		*part = first_part(cq);
		return 0;
	}
	*part = (struct iwt_cq_part) { .mask = entries - 1 };
	if (!compat_cq_user_resize && !cq->user)
		return compat_alloc_part(part, bytes);
	part->map = iwt_mmap_alloc(uc, bytes, offset);
	if (IS_ERR(part->map))
		return PTR_ERR(part->map);
	part->ent = part->map->mem;
	return 0;
}

/* Use the entries of @part from now on. Return: the part that was in use. */
static struct iwt_cq_part resize_take(struct iwt_cq *cq, struct iwt_cq_part *part)
	__must_hold(&cq->lock)
{
	struct iwt_cq_part old = cq->part;

	cq->ring.ent = part->ent;
	cq->ring.mask = part->mask;
	cq->room = part->mask + 1;
	cq->part = *part;
	return old;
}

static void compat_move_entries(struct iwt_cq *cq, struct iwt_cq_part *part)
	__must_hold(&cq->lock)
{
	for (u32 i = cq->ring.ctl->cons; i != cq->prod; i++)
		memcpy(iwt_cq_part_at(cq, part, i), iwt_ring_at(&cq->ring, i),
		       cq->ring.stride);
	*part = resize_take(cq, part);
}

/* From now on write completions to the old entries and to @part. */
static void write_both(struct iwt_cq *cq, struct iwt_cq_part *part)
	__must_hold(&cq->lock)
{
	cq->next = *part;
	cq->moving = true;
	cq->room = min(cq->ring.mask, part->mask) + 1;
	*part = (struct iwt_cq_part) {};
}

/*
 * Are @cqe entries enough for the completions that are in the queue? A queue that has overrun
 * can't be resized. An invalid consumer index of a process looks like too many completions.
 */
static bool resize_fits(const struct iwt_cq *cq, u32 cqe)
	__must_hold(&cq->lock)
{
	return !(cq->flags & IWT_RING_OVERRUN) &&
	       cq->prod - READ_ONCE(cq->ring.ctl->cons) <= cqe;
}

/*
 * Check that @cqe entries are enough. Then begin to move to @part, if @part is not NULL. This
 * function sets @part to the part that the caller has to free; after an error, the caller has to
 * free the unchanged @part. Return: 0 or -EINVAL.
 */
static int resize_begin(struct iwt_cq *cq, struct iwt_cq_part *part, u32 cqe)
{
	unsigned long irq;
	int err = 0;

	spin_lock_irqsave(&cq->lock, irq);
	if (!resize_fits(cq, cqe))
		err = -EINVAL;
	else if (!compat_cq_user_resize && part && !cq->user)
		compat_move_entries(cq, part);
	else if (part)
		write_both(cq, part);
	spin_unlock_irqrestore(&cq->lock, irq);
	return err;
}

static int resize_cq(struct iwt_cq *cq, struct ib_ucontext *uc, u32 cqe,
		     struct iwt_resize_cq_resp *resp)
{
	u32 entries = max_t(u32, roundup_pow_of_two(cqe), cq->first);
	struct iwt_cq_part part;
	int err;

	if (cq->next.ent)
		return -EBUSY;
	if (entries == cq->ring.mask + 1)
		return resize_begin(cq, NULL, cqe);
	err = alloc_part(cq, &part, uc, entries, &resp->mmap_offset);
	if (err)
		return err;
	if (part.map)
		resp->mmap_length = part.map->len;
	err = resize_begin(cq, &part, cqe);
	free_part(&part);
	if (!err)
		cq->ibcq.cqe = entries;
	return err;
}

/**
 * iwt_cq_resize() - change the size of a completion queue
 * @cq: queue of a process
 * @uc: context of the process
 * @cqe: minimum number of entries, up to %IWT_MAX_CQE
 * @resp: response for the process, zeroed: set to the size and, if there is a new mapping, to its
 *	offset and length
 *
 * The new size is a power of two and not less than the size with which the queue was created. If
 * the size changes, the process has to call IWT_METHOD_CQ_RESIZED later, which calls
 * iwt_cq_resized(). May sleep.
 *
 * Return: 0; -EINVAL if more entries are in use than @cqe, or if the queue has overrun; -EBUSY
 * if the process has not finished the last resize; or -ENOMEM. After an error nothing is changed.
 */
int iwt_cq_resize(struct iwt_cq *cq, struct ib_ucontext *uc, u32 cqe,
		  struct iwt_resize_cq_resp *resp)
{
	int err;

	mutex_lock(&cq->resizing);
	err = resize_cq(cq, uc, cqe, resp);
	resp->entries = cq->ibcq.cqe;
	mutex_unlock(&cq->resizing);
	return err;
}

/* End the writing to both parts. Return: the part that the caller has to free. */
static struct iwt_cq_part resize_end(struct iwt_cq *cq, bool moved)
{
	struct iwt_cq_part old = cq->next;
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	cq->moving = false;
	if (moved)
		old = resize_take(cq, &cq->next);
	else
		cq->room = cq->ring.mask + 1;
	cq->next = (struct iwt_cq_part) {};
	spin_unlock_irqrestore(&cq->lock, irq);
	return old;
}

/**
 * iwt_cq_resized() - finish the resize of a process's queue
 * @cq: queue of the process
 * @moved: true: the process reads the new entries; false: step 2 (see the top of this file) has
 *	failed, and the process reads the old entries
 *
 * May sleep.
 *
 * Return: 0, or -EINVAL if no resize is in progress.
 */
int iwt_cq_resized(struct iwt_cq *cq, bool moved)
{
	struct iwt_cq_part old = {};
	int err = -EINVAL;

	mutex_lock(&cq->resizing);
	if (cq->next.ent) {
		old = resize_end(cq, moved);
		cq->ibcq.cqe = cq->ring.mask + 1;
		err = 0;
	}
	mutex_unlock(&cq->resizing);
	free_part(&old);
	return err;
}

/**
 * iwt_cq_free_parts() - free the memory that resizes have allocated
 * @cq: queue that nobody uses any more
 *
 * May sleep.
 */
void iwt_cq_free_parts(struct iwt_cq *cq)
{
	free_part(&cq->part);
	free_part(&cq->next);
}
