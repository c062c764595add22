// SPDX-License-Identifier: GPL-2.0
/* Batches of bytes that TCP refers to, from their allocation to their release. */
#include "tx_zc.h"

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>

#include <compat/ubuf.h>

#include "proto/first.h"

/**
 * struct iwt_zc - the batches of one queue pair that TCP refers to
 * @lock: innermost of the driver's locks; acquired in any context in which the network frees an
 *	skb
 * @ref: number of references: one of the queue pair, and one of each batch
 * @wake: called when the oldest batch is released; NULL after iwt_zc_mute() or iwt_zc_close()
 * @ctx: argument of @wake
 * @closed: the queue pair no longer exists, so release() frees each batch
 * @in_flight: batches that iwt_zc_released_seq() has not yet removed, in order
 * @last_seq: number of the last batch
 * @released_seq: number of the last batch that was released together with all earlier batches
 *
 * @lock guards @wake, @closed and @in_flight; the lock of the stream guards @last_seq and
 * @released_seq.
 */
struct iwt_zc {
	spinlock_t lock;
	refcount_t ref;
	void (*wake)(void *ctx) __guarded_by(&lock);
	void *ctx;
	bool closed __guarded_by(&lock);
	struct list_head in_flight __guarded_by(&lock);
	u32 last_seq;
	u32 released_seq;
};

/* Number of struct iwt_zc: iwt_zc_exit() waits until it is 0. */
static atomic_t n_zc;

static void zc_put(struct iwt_zc *zc)
{
	if (!refcount_dec_and_test(&zc->ref))
		return;
	kfree(zc);
	if (atomic_dec_and_test(&n_zc))
		wake_up_var(&n_zc);
}

static void free_batch(struct iwt_zc_batch *b)
{
	struct iwt_zc *zc = b->zc;

	kfree(b);
	zc_put(zc);
}

/*
 * The last reference to a batch was dropped: mark the batch as released. The kernel may free an
 * skb in any context and with any lock held, including the locks of this queue pair and its
 * socket. So this function only sets a flag and, for the oldest batch, calls @wake, which queues
 * work. After iwt_zc_close() this function frees the batch instead.
 */
static void release(struct iwt_zc_batch *b)
{
	struct iwt_zc *zc = b->zc;
	unsigned long flags;
	bool orphan;

	spin_lock_irqsave(&zc->lock, flags);
	b->released = true;
	orphan = zc->closed;
	if (orphan)
		list_del(&b->node);
	else if (zc->wake && list_is_first(&b->node, &zc->in_flight))
		zc->wake(zc->ctx);
	spin_unlock_irqrestore(&zc->lock, flags);
	if (orphan)
		free_batch(b);
}

static void on_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool ok)
{
	/* iwt_zc_exit() waits for the end of this section */
	rcu_read_lock();
	if (refcount_dec_and_test(&ubuf->refcnt))
		release(container_of(ubuf, struct iwt_zc_batch, ubuf));
	rcu_read_unlock();
}

static const struct ubuf_info_ops ubuf_ops = {
	.complete = on_complete,
};

/**
 * iwt_zc_exit() - wait at module unload until the network has released all batches
 *
 * No queue pair is left. May sleep.
 */
void iwt_zc_exit(void)
{
	wait_var_event(&n_zc, !atomic_read(&n_zc));
	synchronize_rcu();
}

/**
 * iwt_zc_new() - allocate the object of a queue pair
 * @wake: called when iwt_zc_released_seq() would return a new number: in any context and with any
 *	lock held, so @wake must only queue work; not called after iwt_zc_mute() or iwt_zc_close()
 * @ctx: argument of @wake
 *
 * May sleep.
 *
 * Return: the object, or NULL if memory is missing.
 */
struct iwt_zc *iwt_zc_new(void (*wake)(void *ctx), void *ctx)
	__context_unsafe(/* no other processor can access it yet */)
{
	struct iwt_zc *zc = kzalloc(sizeof(*zc), GFP_KERNEL);

	if (!zc)
		return NULL;
	atomic_inc(&n_zc);
	spin_lock_init(&zc->lock);
	refcount_set(&zc->ref, 1);
	INIT_LIST_HEAD(&zc->in_flight);
	zc->last_seq = IWT_FIRST;
	zc->released_seq = IWT_FIRST;
	zc->wake = wake;
	zc->ctx = ctx;
	return zc;
}

/* Move the oldest batches to @to, up to the first one that is not released. */
static void take_released(struct iwt_zc *zc, struct list_head *to)
{
	struct iwt_zc_batch *b, *next;

	lockdep_assert_held(&zc->lock);
	list_for_each_entry_safe(b, next, &zc->in_flight, node) {
		if (!b->released)
			break;
		zc->released_seq = b->seq;
		list_move_tail(&b->node, to);
	}
}

static void free_all(struct list_head *batches)
{
	struct iwt_zc_batch *b, *next;

	list_for_each_entry_safe(b, next, batches, node)
		free_batch(b);
}

/**
 * iwt_zc_mute() - stop calling the function @wake of iwt_zc_new()
 * @zc: object, or NULL
 *
 * Any context.
 */
void iwt_zc_mute(struct iwt_zc *zc)
{
	unsigned long flags;

	if (!zc)
		return;
	spin_lock_irqsave(&zc->lock, flags);
	zc->wake = NULL;
	spin_unlock_irqrestore(&zc->lock, flags);
}

/**
 * iwt_zc_close() - release the object of a queue pair that frames no batch any more
 * @zc: object, or NULL; the caller must not use the object afterwards
 *
 * Batches that are still in flight are freed when TCP releases them. Any context.
 */
void iwt_zc_close(struct iwt_zc *zc)
{
	struct iwt_zc_batch *b, *next;
	unsigned long flags;
	LIST_HEAD(done);

	if (!zc)
		return;
	spin_lock_irqsave(&zc->lock, flags);
	zc->wake = NULL;
	zc->closed = true;
	list_for_each_entry_safe(b, next, &zc->in_flight, node)
		if (b->released)
			list_move_tail(&b->node, &done);
	spin_unlock_irqrestore(&zc->lock, flags);
	free_all(&done);
	zc_put(zc);
}

/**
 * iwt_zc_get() - begin a batch
 * @zc: object of the queue pair; the lock of the stream is held
 *
 * Never sleeps.
 *
 * Return: an empty batch, which the caller ends with iwt_zc_sent(); NULL if memory is missing.
 */
struct iwt_zc_batch *iwt_zc_get(struct iwt_zc *zc)
{
	struct iwt_zc_batch *b = kmalloc(sizeof(*b), GFP_ATOMIC | __GFP_NOWARN);
	unsigned long flags;

	if (!b)
		return NULL;
	compat_ubuf_init(&b->ubuf, &ubuf_ops);
	b->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&b->ubuf.refcnt, 1);
	refcount_inc(&zc->ref);
	b->zc = zc;
	b->seq = ++zc->last_seq;
	b->released = false;
	b->n = 0;
	b->bytes = 0;
	b->by_ref = 0;
	b->sent = 0;
	spin_lock_irqsave(&zc->lock, flags);
	list_add_tail(&b->node, &zc->in_flight);
	spin_unlock_irqrestore(&zc->lock, flags);
	return b;
}

/**
 * iwt_zc_add() - add a piece of memory, to which TCP will refer
 * @b: batch that was not passed to TCP yet
 * @page: page that TCP may refer to (sendpage_ok())
 * @off: offset in the page
 * @len: number of bytes
 *
 * If the bytes follow the last piece in the same compound page, this function extends the last
 * piece, as TCP does.
 *
 * Return: true; false when the batch has no room for another piece.
 */
bool iwt_zc_add(struct iwt_zc_batch *b, struct page *page, u32 off, u32 len)
{
	struct bio_vec *last = b->n ? &b->piece[b->n - 1] : NULL;
	struct page *head = compound_head(page);

	off += (page - head) << PAGE_SHIFT;
	if (last && last->bv_page == head &&
	    last->bv_offset + last->bv_len == off) {
		last->bv_len += len;
	} else {
		if (b->n == IWT_ZC_PIECES)
			return false;
		get_page(head);
		bvec_set_page(&b->piece[b->n++], head, len, off);
	}
	b->bytes += len;
	return true;
}

/**
 * iwt_zc_cut() - remove the bytes that were added last
 * @b: batch of which no byte was passed to TCP yet
 * @bytes: number of bytes to keep
 */
void iwt_zc_cut(struct iwt_zc_batch *b, u32 bytes)
{
	while (b->bytes > bytes) {
		struct bio_vec *last = &b->piece[b->n - 1];
		u32 part = min(b->bytes - bytes, last->bv_len);

		b->bytes -= part;
		last->bv_len -= part;
		if (last->bv_len)
			continue;
		put_page(last->bv_page);
		b->n--;
	}
}

/**
 * iwt_zc_sent() - drop the engine's reference to a batch
 * @b: batch that TCP has accepted completely, or will never get; the caller must not use the
 *	batch afterwards
 *
 * Any context.
 */
void iwt_zc_sent(struct iwt_zc_batch *b)
{
	u32 i;

	for (i = 0; i < b->n; i++)
		put_page(b->piece[i].bv_page);
	on_complete(NULL, &b->ubuf, true);
}

/**
 * iwt_zc_released_seq() - up to which batch has TCP released the memory?
 * @zc: object, or NULL; the lock of the stream is held
 *
 * This function frees the batch with the returned number, and all earlier batches.
 *
 * Return: number, modulo 2^32, of the last batch that is released together with all earlier
 * batches; IWT_FIRST if there is no such batch; 0 without an object.
 */
u32 iwt_zc_released_seq(struct iwt_zc *zc)
{
	unsigned long flags;
	LIST_HEAD(done);

	if (!zc)
		return 0;
	spin_lock_irqsave(&zc->lock, flags);
	take_released(zc, &done);
	spin_unlock_irqrestore(&zc->lock, flags);
	free_all(&done);
	return zc->released_seq;
}

/**
 * iwt_zc_last_seq() - the number of the last batch that was begun
 * @zc: object, or NULL; the lock of the stream is held
 *
 * Return: the number; IWT_FIRST before the first batch; 0 without an object.
 */
u32 iwt_zc_last_seq(const struct iwt_zc *zc)
{
	return zc ? zc->last_seq : 0;
}

/**
 * iwt_zc_any_released() - would iwt_zc_released_seq() return a new number?
 * @zc: object, or NULL; the lock of the stream is held
 *
 * Return: true if the oldest batch in flight is released.
 */
bool iwt_zc_any_released(struct iwt_zc *zc)
{
	struct iwt_zc_batch *b;
	unsigned long flags;
	bool released;

	if (!zc)
		return false;
	spin_lock_irqsave(&zc->lock, flags);
	b = list_first_entry_or_null(&zc->in_flight, struct iwt_zc_batch, node);
	released = b && b->released;
	spin_unlock_irqrestore(&zc->lock, flags);
	return released;
}

/**
 * iwt_zc_in_flight() - does TCP still refer to any batch?
 * @zc: object, or NULL; the lock of the stream is held
 *
 * Return: true if a batch is not yet released.
 */
bool iwt_zc_in_flight(struct iwt_zc *zc)
{
	return iwt_zc_released_seq(zc) != iwt_zc_last_seq(zc);
}
