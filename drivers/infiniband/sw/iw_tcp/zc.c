// SPDX-License-Identifier: GPL-2.0
#include "zc.h"

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>

#include <compat/ubuf.h>

/**
 * struct iwt_zc - what one queue pair has given to TCP
 * @lock: innermost; taken wherever buffers of the network are freed
 * @ref: its queue pair, and each batch
 * @wake: something came back; NULL when nobody is to be told any more
 * @ctx: its argument
 * @closed: the queue pair is gone: batches free themselves
 * @out: batches not known to be back, in order
 * @given: number of the last batch
 * @back: number of the last one of those that are back with all before them
 *
 * @lock guards @wake, @closed and @out; @given and @back are the queue pair's.
 */
struct iwt_zc {
	spinlock_t lock;
	refcount_t ref;
	void (*wake)(void *ctx);
	void *ctx;
	bool closed;
	struct list_head out;
	u32 given;
	u32 back;
};

/* How many there are: the module waits for all of them. */
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
 * The last reference is gone. That may be anywhere where a buffer is freed, with
 * any lock held, those of this queue pair and its socket too: only take note.
 */
static void come_back(struct iwt_zc_batch *b)
{
	struct iwt_zc *zc = b->zc;
	unsigned long flags;
	bool orphan;

	spin_lock_irqsave(&zc->lock, flags);
	b->back = true;
	orphan = zc->closed;
	if (orphan)
		list_del(&b->node);
	else if (zc->wake && list_is_first(&b->node, &zc->out))
		zc->wake(zc->ctx);
	spin_unlock_irqrestore(&zc->lock, flags);
	if (orphan)
		free_batch(b);
}

static void on_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool ok)
{
	/* iwt_zc_exit() waits for the end of this */
	rcu_read_lock();
	if (refcount_dec_and_test(&ubuf->refcnt))
		come_back(container_of(ubuf, struct iwt_zc_batch, ubuf));
	rcu_read_unlock();
}

static const struct ubuf_info_ops ubuf_ops = {
	.complete = on_complete,
};

/**
 * iwt_zc_exit() - at module unload, when no queue pair is left
 *
 * Sleeps until the network has let go of everything.
 */
void iwt_zc_exit(void)
{
	wait_var_event(&n_zc, !atomic_read(&n_zc));
	synchronize_rcu();
}

/**
 * iwt_zc_new() - make one for a queue pair
 * @wake: called when iwt_zc_back() has something new to say: in any context,
 *	with any lock held, so it must only queue work; not after iwt_zc_mute()
 * @ctx: its argument
 *
 * May sleep. Return: it, or NULL without memory.
 */
struct iwt_zc *iwt_zc_new(void (*wake)(void *ctx), void *ctx)
{
	struct iwt_zc *zc = kzalloc(sizeof(*zc), GFP_KERNEL);

	if (!zc)
		return NULL;
	atomic_inc(&n_zc);
	spin_lock_init(&zc->lock);
	refcount_set(&zc->ref, 1);
	INIT_LIST_HEAD(&zc->out);
	zc->wake = wake;
	zc->ctx = ctx;
	return zc;
}

/* What is back, in order, up to the first one that is not. */
static void take_back(struct iwt_zc *zc, struct list_head *to)
{
	struct iwt_zc_batch *b, *next;

	lockdep_assert_held(&zc->lock);
	list_for_each_entry_safe(b, next, &zc->out, node) {
		if (!b->back)
			break;
		zc->back = b->seq;
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
 * iwt_zc_mute() - nobody is to be told of anything any more
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
 * iwt_zc_close() - the queue pair is about to go; nothing is being framed
 * @zc: its object, or NULL; not to be used any more
 *
 * What is still out frees itself. Any context.
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
	list_for_each_entry_safe(b, next, &zc->out, node)
		if (b->back)
			list_move_tail(&b->node, &done);
	spin_unlock_irqrestore(&zc->lock, flags);
	free_all(&done);
	zc_put(zc);
}

/**
 * iwt_zc_get() - begin a batch
 * @zc: whose
 *
 * qp->lock is held, never sleeps. Return: an empty batch, which ends by
 * iwt_zc_sent(); NULL without memory.
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
	b->seq = ++zc->given;
	b->back = false;
	b->n = 0;
	b->bytes = 0;
	b->by_ref = 0;
	b->sent = 0;
	spin_lock_irqsave(&zc->lock, flags);
	list_add_tail(&b->node, &zc->out);
	spin_unlock_irqrestore(&zc->lock, flags);
	return b;
}

/**
 * iwt_zc_add() - another piece for TCP to refer to
 * @b: batch, not sent
 * @page: page that may be referred to (sendpage_ok())
 * @off: offset in it
 * @len: octets
 *
 * What continues the last piece in the same large page joins it, as it will in
 * TCP. Return: false when there is no room for a piece.
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
 * iwt_zc_cut() - drop what was added last
 * @b: batch, nothing of it sent
 * @bytes: octets that stay
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
 * iwt_zc_sent() - the engine is done with a batch: TCP has it, or nobody will
 * @b: batch; may be gone afterwards
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
 * iwt_zc_back() - how much is back?
 * @zc: whose, or NULL; qp->lock is held
 *
 * Return: the number of the last batch of those that are back with all before
 * them; modulo 2^32, 0 at first.
 */
u32 iwt_zc_back(struct iwt_zc *zc)
{
	unsigned long flags;
	LIST_HEAD(done);

	if (!zc)
		return 0;
	spin_lock_irqsave(&zc->lock, flags);
	take_back(zc, &done);
	spin_unlock_irqrestore(&zc->lock, flags);
	free_all(&done);
	return zc->back;
}

/**
 * iwt_zc_given() - the number of the last batch that was begun
 * @zc: whose, or NULL; qp->lock is held
 *
 * Return: it; 0 before the first one.
 */
u32 iwt_zc_given(const struct iwt_zc *zc)
{
	return zc ? zc->given : 0;
}

/**
 * iwt_zc_any_back() - would iwt_zc_back() say something new?
 * @zc: whose, or NULL; qp->lock is held
 */
bool iwt_zc_any_back(struct iwt_zc *zc)
{
	struct iwt_zc_batch *b;
	unsigned long flags;
	bool back;

	if (!zc)
		return false;
	spin_lock_irqsave(&zc->lock, flags);
	b = list_first_entry_or_null(&zc->out, struct iwt_zc_batch, node);
	back = b && b->back;
	spin_unlock_irqrestore(&zc->lock, flags);
	return back;
}

/**
 * iwt_zc_any_out() - does anybody still refer to what was given?
 * @zc: whose, or NULL; qp->lock is held
 */
bool iwt_zc_any_out(struct iwt_zc *zc)
{
	return iwt_zc_back(zc) != iwt_zc_given(zc);
}
