// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues of another size.
 *
 * Only the entries move, into memory of their own. The control words and the bits of deferred
 * posts stay where they are, in the first mapping. So what the process does with them while its
 * queue is resized (it polls, arms, posts) needs nothing new: no event and no post can be lost.
 * Where the first mapping has enough entries, the queue moves back to them.
 *
 * A process moves in three steps. The kernel must not wait for it in between.
 *
 * 1. The command: iwt_cq_resize() makes the new entries. From now on each completion is written
 *    to both, the old ones and the new ones, and no more may be in use than both can hold.
 * 2. The process maps the new entries, copies those that it has not taken, and reads the new
 *    ones from now on; with its own lock held, since its threads may poll. The kernel never reads
 *    an entry of a process, so it does not matter to the kernel what the process copies.
 * 3. The method IWT_METHOD_CQ_RESIZED: iwt_cq_resized() ends the writing to both, and gives the
 *    old entries up. If step 2 failed, the process says so, and the new ones are given up.
 *
 * tests/unit/resize_model.py tries all orders. A process that never takes step 3 has each
 * completion written twice, in its own time.
 *
 * The entries of a kernel consumer move at once, under the lock.
 */
#include "cq.h"

#include <linux/log2.h>
#include <linux/vmalloc.h>

#include "dev.h"
#include "mmap.h"

/* The entries behind the control words. */
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
	vfree(part->mem);
	*part = (struct iwt_cq_part) {};
}

/* May sleep. */
static int alloc_part(const struct iwt_cq *cq, struct iwt_cq_part *part, struct ib_ucontext *uc,
		      u32 entries, u64 *offset)
{
	size_t bytes = (size_t)entries * cq->ring.stride;

	if (entries == cq->first) {
		*part = first_part(cq);
		return 0;
	}
	*part = (struct iwt_cq_part) { .mask = entries - 1 };
	if (cq->user) {
		part->map = iwt_mmap_alloc(uc, bytes, offset);
		if (IS_ERR(part->map))
			return PTR_ERR(part->map);
		part->ent = part->map->mem;
	} else {
		part->mem = vzalloc(bytes);
		if (!part->mem)
			return -ENOMEM;
		part->ent = part->mem;
	}
	return 0;
}

/* From now on the entries are those of @part. Returns what they were. */
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

/* A kernel consumer polls under the lock, so nobody looks while they move. */
static void move_entries(struct iwt_cq *cq, struct iwt_cq_part *part)
	__must_hold(&cq->lock)
{
	u32 i;

	for (i = cq->ring.ctl->cons; i != cq->prod; i++)
		memcpy(iwt_cq_part_at(cq, part, i), iwt_ring_at(&cq->ring, i),
		       cq->ring.stride);
	*part = resize_take(cq, part);
}

/* Write to the old entries and to @part. */
static void write_both(struct iwt_cq *cq, struct iwt_cq_part *part)
	__must_hold(&cq->lock)
{
	cq->next = *part;
	cq->moving = true;
	cq->room = min(cq->ring.mask, part->mask) + 1;
	*part = (struct iwt_cq_part) {};
}

/*
 * May the queue have only @cqe entries? A dead one may not be resized at all, and an index of a
 * process that is wrong looks like too many entries in use.
 */
static bool resize_fits(const struct iwt_cq *cq, u32 cqe)
	__must_hold(&cq->lock)
{
	return !(cq->flags & IWT_RING_OVERRUN) &&
	       cq->prod - READ_ONCE(cq->ring.ctl->cons) <= cqe;
}

/* Begins to move to @part, if that is not NULL; @part is set to what is to be given up. */
static int resize_begin(struct iwt_cq *cq, struct iwt_cq_part *part, u32 cqe)
{
	unsigned long irq;
	int err = 0;

	spin_lock_irqsave(&cq->lock, irq);
	if (!resize_fits(cq, cqe))
		err = -EINVAL;
	else if (part && cq->user)
		write_both(cq, part);
	else if (part)
		move_entries(cq, part);
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
 * iwt_cq_resize() - another size for a completion queue
 * @cq: queue
 * @uc: context of the process, or NULL
 * @cqe: least number of entries, up to %IWT_MAX_CQE
 * @resp: set to what the process has to know
 *
 * The size is a power of two that is not less than that with which the queue was created. May
 * sleep. iwt_cq_resized() has to follow for the queue of a process if the size changes.
 *
 * Return: 0; -EINVAL if more entries are in use than @cqe, or if the queue has overrun; -EBUSY
 * if the process has not ended the last change; or -ENOMEM. Nothing has changed then.
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

/* Ends the writing to both. Returns the part that is to be given up. */
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
 * iwt_cq_resized() - the process has moved to the entries that iwt_cq_resize() made
 * @cq: its queue
 * @moved: else it could not, and reads the old ones
 *
 * May sleep.
 *
 * Return: 0, or -EINVAL if there are none.
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
 * iwt_cq_free_parts() - give up what a resize has made
 * @cq: queue that nobody uses any more
 *
 * May sleep.
 */
void iwt_cq_free_parts(struct iwt_cq *cq)
{
	free_part(&cq->part);
	free_part(&cq->next);
}
