// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions.
 *
 * The upper 24 bits of an STag are the index of its region in a table, the lower 8 bits are a
 * key. A lookup compares all 32 bits. In a new STag both parts are random, so that a peer can
 * hardly guess an STag that was not advertised to the peer (RFC 5040 8.1.1, RFC 5042 6.1.1). An
 * engine holds the lock of the region for reading while the engine copies bytes: as long as the
 * engine holds the lock and the region is valid, the engine may use the memory. A thread that
 * invalidates or destroys the region takes the lock for writing, and so waits for the engines.
 */
#include "mr_priv.h"

#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "dev.h"
#include "mr_dmabuf_map.h"
#include "stats.h"

#define KEY_BITS	8
/* Maximum number of attempts to find a free index. The table is at most 1/8 full. */
#define STAG_TRIES	64
/* Maximum number of bytes that one fault of a stream requests. */
#define FAULT_MAX	(256 << 10)

/*
 * Access flags that all kinds of regions support. Of the flags in IB_ACCESS_OPTIONAL, only
 * IB_ACCESS_RELAXED_ORDERING has an effect.
 */
#define ACCESS_KNOWN	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_OPTIONAL)

/**
 * iwt_mr_rights() - translate access flags to rights
 * @access: enum ib_access_flags
 * @rights: set to enum iwt_rights flags
 *
 * Any context.
 *
 * Return: 0, -EOPNOTSUPP for flags that the device does not support, or -EINVAL if the flags
 * allow remote writes or atomic operations but no local writes.
 */
int iwt_mr_rights(int access, u32 *rights)
{
	if (access & ~ACCESS_KNOWN)
		return -EOPNOTSUPP;
	/* verbs allow remote writes and atomic operations only together with local writes */
	if ((access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	*rights = iwt_remote_rights(access) | IWT_LOCAL_READ;
	if (access & IB_ACCESS_LOCAL_WRITE)
		*rights |= IWT_LOCAL_WRITE;
	return 0;
}

/**
 * iwt_mr_check_bounds() - check the bounds of a process's region
 * @start: user address of the first byte; for a dma-buf, offset of the first byte in the dma-buf
 * @len: length in bytes
 * @iova: tagged offset of the first byte
 *
 * Any context.
 *
 * Return: 0; -EINVAL if @len is 0, or if @start + @len or the tagged offset of the last byte does
 * not fit in 64 bits.
 */
int iwt_mr_check_bounds(u64 start, u64 len, u64 iova)
{
	u64 last;

	return !len || check_add_overflow(start, len, &last) ||
	       check_add_overflow(iova, len - 1, &last) ? -EINVAL : 0;
}

/**
 * iwt_mr_take_stag() - reserve an STag with an index that no other region has
 * @mr: region or window; the table of STags has @mr at this index from now on, but iwt_mr_get()
 *	accepts the STag only after iwt_mr_set_stag()
 * @stag: set to the STag, all bits of which are random
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_mr_take_stag(struct iwt_mr *mr, u32 *stag)
{
	int tries, ret = -EBUSY;

	for (tries = 0; tries < STAG_TRIES && ret == -EBUSY; tries++) {
		*stag = get_random_u32();
		/* index 0 is reserved: its STag IWT_LOCAL_DMA_LKEY means "any kernel address" */
		if (!(*stag >> KEY_BITS))
			continue;
		ret = xa_insert(&mr->dev->mrs, *stag >> KEY_BITS, mr, GFP_KERNEL);
	}
	return ret == -EBUSY ? -ENOMEM : ret;
}

/**
 * iwt_mr_drop_stag() - release an STag
 * @mr: region or window, which is invalid or has another STag now
 * @stag: from iwt_mr_take_stag()
 *
 * Process context, never sleeps.
 */
void iwt_mr_drop_stag(struct iwt_mr *mr, u32 stag)
{
	xa_erase(&mr->dev->mrs, stag >> KEY_BITS);
}

/**
 * iwt_mr_set_stag() - set the STag by which iwt_mr_get() finds a region
 * @mr: region; its lock is held for writing
 * @stag: from iwt_mr_take_stag()
 *
 * Bottom halves off, never sleeps.
 */
void iwt_mr_set_stag(struct iwt_mr *mr, u32 stag)
{
	iwt_fair_assert_write(&mr->lock);
	mr->stag = stag;
	mr->ibmr.lkey = stag;
	mr->ibmr.rkey = stag;
}

/*
 * Return: the counter of the device's windows, if @mr is a window, else the counter of its
 * regions. This function sets @max to the maximum of the counter.
 */
static atomic_t *count_of(struct iwt_mr *mr, int *max)
{
	bool window = mr->kind == IWT_MR_WINDOW;

	*max = window ? IWT_MAX_MW : IWT_MAX_MR;
	return window ? &mr->dev->n_mws : &mr->dev->n_mrs;
}

/**
 * iwt_mr_publish() - give a region or window an STag, so that engines find it
 * @mr: region or window; all members are set, except the STag
 *
 * May sleep.
 *
 * Return: 0, or -ENOMEM, also when the device has %IWT_MAX_MR regions or %IWT_MAX_MW windows.
 */
int iwt_mr_publish(struct iwt_mr *mr)
{
	u32 stag;
	int ret, max;
	atomic_t *n = count_of(mr, &max);

	if (iwt_dev_take(n, max))
		return -ENOMEM;
	ret = iwt_mr_take_stag(mr, &stag);
	if (ret) {
		atomic_dec(n);
		return ret;
	}
	iwt_fair_write_lock_bh(&mr->lock);
	iwt_mr_set_stag(mr, stag);
	iwt_fair_write_unlock_bh(&mr->lock);
	return 0;
}

/**
 * iwt_mr_retract() - undo iwt_mr_publish()
 * @mr: region or window, which is invalid and cannot become valid again
 *
 * Process context, never sleeps.
 */
void iwt_mr_retract(struct iwt_mr *mr)
{
	int max;

	iwt_mr_drop_stag(mr, mr->stag);
	atomic_dec(count_of(mr, &max));
}

/**
 * iwt_mr_gfp() - get the GFP flags for the data structures of a region
 * @pd: protection domain of the region
 *
 * Any context.
 *
 * Return: GFP_KERNEL_ACCOUNT, which charges the process, if the domain belongs to a process;
 * else GFP_KERNEL.
 */
gfp_t iwt_mr_gfp(const struct ib_pd *pd)
{
	return pd->uobject ? GFP_KERNEL_ACCOUNT : GFP_KERNEL;
}

/**
 * iwt_mr_init() - initialise a region or window
 * @mr: region or window, zeroed
 * @pd: protection domain
 * @kind: kind of region
 *
 * Afterwards the region or window is invalid and has no STag. Any context.
 */
void iwt_mr_init(struct iwt_mr *mr, struct ib_pd *pd, enum iwt_mr_kind kind)
{
	mr->dev = to_iwt_dev(pd->device);
	mr->kind = kind;
	iwt_fair_lock_init(&mr->lock);
	mr->region.owner = pd;
}

/**
 * iwt_mr_alloc() - allocate a region without an STag
 * @pd: protection domain
 * @kind: kind of region
 *
 * May sleep.
 *
 * Return: the region, which is invalid and covers no memory; NULL if there is not enough memory.
 */
struct iwt_mr *iwt_mr_alloc(struct ib_pd *pd, enum iwt_mr_kind kind)
{
	struct iwt_mr *mr = kzalloc_obj(*mr, iwt_mr_gfp(pd));

	if (mr)
		iwt_mr_init(mr, pd, kind);
	return mr;
}

/* Unpin memory of a process. @umem: memory that iwt_mr_note_pinned() has counted. May sleep. */
void iwt_mr_unpin(struct ib_umem *umem)
{
	iwt_mr_note_pinned(umem, false);
	ib_umem_release(umem);
}

/**
 * iwt_mr_free() - free a region that has no STag
 * @mr: region; its memory is released at once, the structure after an RCU grace period
 *
 * May sleep.
 */
void iwt_mr_free(struct iwt_mr *mr)
{
	iwt_extents_free(&mr->map);
	iwt_extents_free(&mr->next);
	if (mr->umem)
		iwt_mr_unpin(mr->umem);
	if (mr->dmabuf)
		iwt_dmabuf_put(mr->dmabuf);
	if (mr->pager)
		iwt_pager_leave(mr->pager);
	kfree_rcu(mr, rcu);
}

/**
 * iwt_mr_create_dma() - create a region of all kernel addresses
 * @pd: protection domain of a kernel consumer
 * @access: enum ib_access_flags
 *
 * Process context, may sleep.
 *
 * Return: the region, or an error pointer: -EPERM if the protection domain belongs to a process,
 * -EOPNOTSUPP for access flags that the device does not support, or -ENOMEM.
 */
struct iwt_mr *iwt_mr_create_dma(struct ib_pd *pd, int access)
{
	struct iwt_mr *mr;
	u32 rights;
	int ret;

	if (pd->uobject)
		return ERR_PTR(-EPERM);
	/*
	 * The RDMA core uses the local DMA lkey for local accesses. So the RDMA core requests
	 * only rights for the peer from this function. Without IB_ACCESS_LOCAL_WRITE,
	 * iwt_mr_rights() would refuse some of these rights.
	 */
	ret = iwt_mr_rights(access | IB_ACCESS_LOCAL_WRITE, &rights);
	if (ret)
		return ERR_PTR(ret);
	mr = iwt_mr_alloc(pd, IWT_MR_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	iwt_mr_cover(mr, 0, U64_MAX, rights, true);
	ret = iwt_mr_publish(mr);
	if (ret) {
		iwt_mr_free(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

/**
 * iwt_mr_destroy() - destroy a region
 * @mr: region; freed
 *
 * Process context, may sleep. Waits for engines that are copying to or from the region.
 *
 * Return: 0, or -EBUSY as long as windows are bound to the region.
 */
int iwt_mr_destroy(struct iwt_mr *mr)
{
	bool busy;

	iwt_fair_write_lock_bh(&mr->lock);
	busy = iwt_mr_has_windows(mr);
	if (!busy) {
		mr->region.valid = false;
		/* without an owner, no later REG_MR can make the region valid again */
		mr->region.owner = NULL;
	}
	iwt_fair_write_unlock_bh(&mr->lock);
	if (busy)
		return -EBUSY;
	iwt_mr_retract(mr);
	iwt_mr_free(mr);
	return 0;
}

/*
 * sparse and clang can't follow a lock through a returned pointer. So hand_out() makes the
 * checkers believe that the lock of RCU is released, and take_back() that it is acquired again.
 * The functions that use them do the same with a lock for writing.
 */
static inline struct iwt_mr *hand_out(struct iwt_mr *mr)
	__no_context_analysis
{
	__release(RCU);
	return mr;
}

static inline void take_back(void)
	__no_context_analysis
{
	__acquire(RCU);
}

/**
 * iwt_mr_get() - find a region or window for access
 * @dev: device
 * @stag: STag or lkey
 *
 * Any context but hard interrupts.
 *
 * Return: the valid region or window that has this STag, locked for reading, with bottom halves
 * off; the caller unlocks the region or window by iwt_mr_put(). NULL if no valid region or window
 * has this STag.
 */
struct iwt_mr *iwt_mr_get(struct iwt_dev *dev, u32 stag)
	__no_context_analysis
{
	struct iwt_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> KEY_BITS);
	if (mr) {
		iwt_fair_read_lock_bh(&mr->lock);
		if (mr->stag == stag && mr->region.valid) {
			if (mr->odp)
				iwt_odp_use(mr->odp);
			return hand_out(mr);
		}
		iwt_fair_read_unlock_bh(&mr->lock);
	}
	rcu_read_unlock();
	return NULL;
}

/**
 * iwt_mr_put() - unlock a region or window
 * @mr: region or window from iwt_mr_get(), not NULL
 *
 * Same context as iwt_mr_get(). Bottom halves are off until this function returns.
 */
void iwt_mr_put(struct iwt_mr *mr)
	__no_context_analysis
{
	take_back();
	if (mr->odp)
		iwt_odp_leave(mr->odp);
	iwt_fair_read_unlock_bh(&mr->lock);
	rcu_read_unlock();
}

/**
 * iwt_hold_change() - release the region of a hold, and hold the region of an STag
 * @h: hold
 * @dev: device
 * @stag: STag or lkey
 *
 * Any context but hard interrupts.
 *
 * Return: the region of @stag, or NULL, as iwt_mr_get().
 */
struct iwt_mr *iwt_hold_change(struct iwt_hold *h, struct iwt_dev *dev,
			       u32 stag)
{
	iwt_hold_drop(h);
	h->hint = 0;
	h->mr = iwt_mr_get(dev, stag);
	return h->mr;
}

/**
 * iwt_mr_find_piece() - slow path of iwt_mr_piece()
 * @mr: region from iwt_mr_get()
 * @addr: tagged offset
 * @max: maximum number of bytes
 * @len: set to the number of contiguous bytes, at most @max
 * @hint: index of the extent where the search begins; set to the index of the extent that
 *	contains @addr
 * @write: the caller will write the bytes
 *
 * Bottom halves off, never sleeps.
 *
 * Return: address of the memory, or NULL: call iwt_mr_miss() for the reason.
 */
u8 *iwt_mr_find_piece(const struct iwt_mr *mr, u64 addr, u32 max, u32 *len,
		      u32 *hint, bool write)
{
	u64 off = addr - mr->origin, skip;
	const struct iwt_extent *e;

	if (mr->kind == IWT_MR_DMA) {
		*len = max;
		return (u8 *)(uintptr_t)addr;
	}
	if (mr->kind == IWT_MR_ODP)
		return iwt_odp_piece(mr->odp, iwt_mr_user_va(mr, addr), max, len,
				     write);
	if (!iwt_extents_find(&mr->map, off, hint)) {
		*len = 0;
		return NULL;
	}
	e = &mr->map.ext[*hint];
	skip = off - e->off;
	*len = min_t(u64, max, e->len - skip);
	return e->va + skip;
}

/**
 * iwt_mr_miss() - request memory that iwt_mr_piece() did not find
 * @mr: region from iwt_mr_get()
 * @fault: fault of this direction of the stream (struct iwt_hold); the lock of the stream is held
 * @addr: tagged offset of the first absent byte; access to this byte has been checked
 * @len: bytes that the stream needs from @addr on; access to these bytes has been checked
 * @write: the stream will write the bytes
 *
 * Bottom halves off, never sleeps.
 *
 * Return: %IWT_ACCESS_ABSENT if the pager will make the memory present and then resume the
 * stream; %IWT_ACCESS_BOUNDS if the region or the process has no such memory, or if the process
 * has exited; %IWT_ACCESS_FAILED if the last request for the same memory failed for another
 * reason.
 */
enum iwt_access_verdict iwt_mr_miss(const struct iwt_mr *mr,
				    struct iwt_fault *fault, u64 addr, u32 len,
				    bool write)
{
	const struct iwt_fault_ask ask = {
		.va = iwt_mr_user_va(mr, addr),
		.len = min_t(u32, len, FAULT_MAX),
		.behind = mr->region.len - (addr - mr->origin) - min_t(u32, len, FAULT_MAX),
		.how = write ? IWT_ODP_WRITE : IWT_ODP_READ,
	};
	int err;

	if (mr->kind != IWT_MR_ODP)
		return IWT_ACCESS_BOUNDS;
	if (iwt_fault_waits(fault))
		return IWT_ACCESS_ABSENT;
	err = iwt_fault_raise(fault, mr->pager, &ask);
	if (err) {
		iwt_count(mr->dev, IWT_C_ODP_FAILED);
		return err == -EFAULT ? IWT_ACCESS_BOUNDS : IWT_ACCESS_FAILED;
	}
	iwt_count(mr->dev, IWT_C_ODP_FAULT);
	return IWT_ACCESS_ABSENT;
}

/**
 * iwt_mr_get_for_change() - find and write-lock a region or window
 * @dev: device
 * @stag: STag; its key is ignored
 *
 * Any context but hard interrupts.
 *
 * Return: the region or window, valid or not, locked for writing, with bottom halves off; the
 * caller unlocks it by iwt_mr_put_changed(). NULL if there is no such region or window.
 */
struct iwt_mr *iwt_mr_get_for_change(struct iwt_dev *dev, u32 stag)
	__no_context_analysis
{
	struct iwt_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> KEY_BITS);
	if (!mr) {
		rcu_read_unlock();
		return NULL;
	}
	iwt_fair_write_lock_bh(&mr->lock);
	__release(&mr->lock.lock);
	return hand_out(mr);
}

/**
 * iwt_mr_put_changed() - unlock a region or window that was locked for writing
 * @mr: region or window from iwt_mr_get_for_change(), not NULL
 *
 * Same context as iwt_mr_get_for_change(). Bottom halves are off until this function returns.
 */
void iwt_mr_put_changed(struct iwt_mr *mr)
	__no_context_analysis
{
	take_back();
	__acquire(&mr->lock.lock);
	iwt_fair_write_unlock_bh(&mr->lock);
	rcu_read_unlock();
}
