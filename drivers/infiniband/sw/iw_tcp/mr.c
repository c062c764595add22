// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions.
 *
 * A region is looked up by the upper 24 bits of its STag, and all 32 bits must match; both
 * parts are random, so that a peer can't guess an STag that it was not told (RFC 5042 6.2).
 * Octets are copied under the region's read lock: while an engine has the lock and the region
 * is valid, it may use the memory; to invalidate or destroy the region is to wait for the lock.
 */
#include "mr_priv.h"

#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "dev.h"
#include "dmabuf.h"

#define KEY_BITS	8
/* The table is never more than 1/16 full, so this many misses do not happen. */
#define STAG_TRIES	64

/* Access flags that a region may have; the optional ones are hints. */
#define ACCESS_KNOWN	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_OPTIONAL)

/**
 * iwt_mr_rights() - what access flags allow
 * @access: enum ib_access_flags
 * @rights: takes enum iwt_rights
 *
 * Any context.
 *
 * Return: 0, -EOPNOTSUPP for flags that the device does not have, or -EINVAL for flags that
 * contradict each other.
 */
int iwt_mr_rights(int access, u32 *rights)
{
	if (access & ~ACCESS_KNOWN)
		return -EOPNOTSUPP;
	/* a peer that writes changes what the local side reads */
	if ((access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	*rights = iwt_remote_rights(access);
	if (access & IB_ACCESS_LOCAL_WRITE)
		*rights |= IWT_LOCAL_WRITE;
	return 0;
}

/**
 * iwt_mr_check_bounds() - may a region of a process have these bounds?
 * @start: address, or offset, of the first octet in what it is a part of
 * @len: octets
 * @iova: tagged offset of the first octet
 *
 * Any context.
 *
 * Return: 0, or -EINVAL if it has no octet, or if a sum overflows.
 */
int iwt_mr_check_bounds(u64 start, u64 len, u64 iova)
{
	u64 last;

	return !len || check_add_overflow(start, len, &last) ||
	       check_add_overflow(iova, len - 1, &last) ? -EINVAL : 0;
}

/**
 * iwt_mr_take_stag() - reserve an STag whose index no other region has
 * @mr: region, which is looked up by the STag from now on, but does not answer to it yet
 * @stag: takes it; random in all its bits
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
		/* STags of index 0 mean "any kernel address" */
		if (!(*stag >> KEY_BITS))
			continue;
		ret = xa_insert(&mr->dev->mrs, *stag >> KEY_BITS, mr, GFP_KERNEL);
	}
	return ret == -EBUSY ? -ENOMEM : ret;
}

/**
 * iwt_mr_drop_stag() - nothing is looked up by this STag any more
 * @mr: region, which does not answer to it
 * @stag: from iwt_mr_take_stag()
 *
 * May sleep.
 */
void iwt_mr_drop_stag(struct iwt_mr *mr, u32 stag)
{
	xa_erase(&mr->dev->mrs, stag >> KEY_BITS);
}

/**
 * iwt_mr_set_stag() - the STag that a region answers to
 * @mr: region; its lock is held for writing
 * @stag: from iwt_mr_take_stag()
 */
void iwt_mr_set_stag(struct iwt_mr *mr, u32 stag)
{
	lockdep_assert_held_write(&mr->lock);
	mr->stag = stag;
	mr->ibmr.lkey = stag;
	mr->ibmr.rkey = stag;
}

/**
 * iwt_mr_publish() - make a region known under an STag of its own
 * @mr: region, complete but for the STag
 *
 * May sleep.
 *
 * Return: 0, or -ENOMEM, also when there are %IWT_MAX_MR.
 */
int iwt_mr_publish(struct iwt_mr *mr)
{
	u32 stag;
	int ret;

	if (iwt_dev_take(&mr->dev->n_mrs, IWT_MAX_MR))
		return -ENOMEM;
	ret = iwt_mr_take_stag(mr, &stag);
	if (ret) {
		atomic_dec(&mr->dev->n_mrs);
		return ret;
	}
	write_lock_bh(&mr->lock);
	iwt_mr_set_stag(mr, stag);
	write_unlock_bh(&mr->lock);
	return 0;
}

/**
 * iwt_mr_gfp() - how the memory of a region is allocated
 * @pd: protection domain of the region
 *
 * Any context.
 *
 * Return: GFP_KERNEL_ACCOUNT for a process, which is charged, else GFP_KERNEL.
 */
gfp_t iwt_mr_gfp(const struct ib_pd *pd)
{
	return pd->uobject ? GFP_KERNEL_ACCOUNT : GFP_KERNEL;
}

/**
 * iwt_mr_alloc() - a region that nobody can find yet
 * @pd: protection domain
 * @kind: where the memory will come from
 *
 * May sleep.
 *
 * Return: the region, invalid and without memory, or NULL.
 */
struct iwt_mr *iwt_mr_alloc(struct ib_pd *pd, enum iwt_mr_kind kind)
{
	struct iwt_mr *mr = kzalloc_obj(*mr, iwt_mr_gfp(pd));

	if (!mr)
		return NULL;
	mr->dev = to_iwt_dev(pd->device);
	mr->kind = kind;
	rwlock_init(&mr->lock);
	mr->region.pd = pd;
	return mr;
}

/**
 * iwt_mr_unpin() - let go of memory of a process
 * @umem: memory that iwt_mr_note_pinned() knows
 *
 * May sleep.
 */
void iwt_mr_unpin(struct ib_umem *umem)
{
	iwt_mr_note_pinned(umem, false);
	ib_umem_release(umem);
}

/**
 * iwt_mr_free() - free a region that nobody can find
 * @mr: region; gone after the next grace period, its memory at once
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
	kfree_rcu(mr, rcu);
}

/**
 * iwt_mr_create_fast() - make a region that REG_MR will fill
 * @pd: protection domain
 * @max: most pages it will ever have; with @gaps, pieces of memory
 * @gaps: a piece may begin and end anywhere
 *
 * Process context, may sleep.
 *
 * Return: the region, invalid, or an error pointer.
 */
struct iwt_mr *iwt_mr_create_fast(struct ib_pd *pd, u32 max, bool gaps)
{
	struct iwt_mr *mr;
	int ret;

	if (!max || max > IWT_MAX_FR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = iwt_mr_alloc(pd, IWT_MR_FAST);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->gaps = gaps;
	ret = iwt_extents_alloc(&mr->map, max, iwt_mr_gfp(pd));
	if (!ret)
		ret = iwt_extents_alloc(&mr->next, max, iwt_mr_gfp(pd));
	if (!ret)
		ret = iwt_mr_publish(mr);
	if (ret) {
		iwt_mr_free(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

/**
 * iwt_mr_create_dma() - make a region of all kernel addresses
 * @pd: protection domain of a kernel consumer
 * @access: enum ib_access_flags
 *
 * Process context, may sleep.
 *
 * Return: the region, or an error pointer; -EPERM if the protection domain belongs to a
 * process.
 */
struct iwt_mr *iwt_mr_create_dma(struct ib_pd *pd, int access)
{
	struct iwt_mr *mr;
	u32 rights;
	int ret;

	if (pd->uobject)
		return ERR_PTR(-EPERM);
	/* the core uses the local key for this side, and asks for rights of the peer only */
	ret = iwt_mr_rights(access | IB_ACCESS_LOCAL_WRITE, &rights);
	if (ret)
		return ERR_PTR(ret);
	mr = iwt_mr_alloc(pd, IWT_MR_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->region.len = U64_MAX;
	mr->region.rights = rights;
	mr->region.valid = true;
	mr->access = access;
	ret = iwt_mr_publish(mr);
	if (ret) {
		iwt_mr_free(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

/**
 * iwt_mr_destroy() - the end of a region
 * @mr: region; gone afterwards
 *
 * Process context, may sleep. Waits for engines that copy.
 */
void iwt_mr_destroy(struct iwt_mr *mr)
{
	write_lock_bh(&mr->lock);
	mr->region.valid = false;
	/* a late REG_MR must not make it valid again */
	mr->region.pd = NULL;
	write_unlock_bh(&mr->lock);
	iwt_mr_drop_stag(mr, mr->stag);
	atomic_dec(&mr->dev->n_mrs);
	iwt_mr_free(mr);
}

static int add_page(struct ib_mr *ibmr, u64 addr)
{
	struct iwt_mr *mr = to_iwt_mr(ibmr);

	return iwt_extents_add(&mr->next, ib_virt_dma_to_ptr(addr),
			       ibmr->page_size);
}

static int map_pages(struct iwt_mr *mr, struct scatterlist *sg, int nents,
		     unsigned int *sg_offset)
{
	int n = ib_sg_to_pages(&mr->ibmr, sg, nents, sg_offset, add_page);

	if (n > 0 &&
	    !iwt_extents_trim(&mr->next,
			      mr->ibmr.iova & (mr->ibmr.page_size - 1),
			      mr->ibmr.length))
		return -EINVAL;
	return n;
}

/* As ib_sg_to_pages() does for pages, it takes as many pieces as there is room for. */
static int map_pieces(struct iwt_mr *mr, struct scatterlist *sgl, int nents,
		      unsigned int *sg_offset)
{
	u64 skip = sg_offset ? *sg_offset : 0, len = 0;
	struct scatterlist *sg;
	int i;

	if (nents <= 0 || skip >= sg_dma_len(sgl))
		return -EINVAL;
	mr->ibmr.iova = sg_dma_address(sgl) + skip;
	for_each_sg(sgl, sg, nents, i) {
		u64 n = sg_dma_len(sg) - skip;

		if (n && iwt_extents_add(&mr->next,
					 ib_virt_dma_to_ptr(sg_dma_address(sg) +
							    skip), n))
			break;
		len += n;
		skip = 0;
	}
	mr->ibmr.length = len;
	if (sg_offset)
		*sg_offset = 0;
	return i;
}

/**
 * iwt_mr_map_sg() - say what the next REG_MR is to cover
 * @mr: region of kind IWT_MR_FAST
 * @sg: list of kernel memory
 * @nents: its length
 * @sg_offset: octets to skip in the first element, updated; may be NULL
 *
 * The region stays as it is until that REG_MR: it may still be in use under its old key. Any
 * context.
 *
 * Return: elements covered, or a negative error.
 */
int iwt_mr_map_sg(struct iwt_mr *mr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset)
{
	int n;

	mr->next.n = 0;
	mr->next_ready = false;
	n = mr->gaps ? map_pieces(mr, sg, nents, sg_offset) :
		       map_pages(mr, sg, nents, sg_offset);
	mr->next_ready = n > 0;
	return n;
}

/* Neither sparse nor clang can follow two locks through a returned pointer. */
static inline struct iwt_mr *hand_out(struct iwt_mr *mr)
	__no_context_analysis
{
	__release(RCU);
	__release(&mr->lock);
	return mr;
}

static inline void take_back(struct iwt_mr *mr)
	__no_context_analysis
{
	__acquire(RCU);
	__acquire(&mr->lock);
}

/**
 * iwt_mr_get() - find a region for access
 * @dev: device
 * @stag: STag or lkey
 *
 * Any context but hard interrupts.
 *
 * Return: the valid region that @stag names with all its bits, read-locked, bottom halves off;
 * NULL if there is none.
 */
struct iwt_mr *iwt_mr_get(struct iwt_dev *dev, u32 stag)
	__no_context_analysis
{
	struct iwt_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> KEY_BITS);
	if (mr) {
		read_lock_bh(&mr->lock);
		if (mr->stag == stag && mr->region.valid)
			return hand_out(mr);
		read_unlock_bh(&mr->lock);
	}
	rcu_read_unlock();
	return NULL;
}

/**
 * iwt_mr_put() - unlock a region
 * @mr: region from iwt_mr_get(), not NULL
 */
void iwt_mr_put(struct iwt_mr *mr)
	__no_context_analysis
{
	take_back(mr);
	read_unlock_bh(&mr->lock);
	rcu_read_unlock();
}

/**
 * iwt_hold_change() - hold another region
 * @h: what is held so far; it is dropped
 * @dev: device
 * @stag: STag or lkey
 *
 * Return: as iwt_mr_get(), which see.
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
 * iwt_mr_find_piece() - iwt_mr_piece() for any place in the region
 * @mr: region from iwt_mr_get()
 * @addr: tagged offset
 * @max: octets wanted
 * @len: set to the octets that are there in one piece
 * @hint: extent where the search begins; set to the one that was found
 *
 * Return: the memory, or NULL if @addr is outside of the region.
 */
u8 *iwt_mr_find_piece(const struct iwt_mr *mr, u64 addr, u32 max, u32 *len,
		      u32 *hint)
{
	u64 off = addr - mr->region.base, skip;
	const struct iwt_extent *e;

	if (mr->kind == IWT_MR_DMA) {
		*len = max;
		return (u8 *)(uintptr_t)addr;
	}
	if (!iwt_extents_find(&mr->map, off, hint)) {
		*len = 0;
		return NULL;
	}
	e = &mr->map.ext[*hint];
	skip = off - e->off;
	*len = min_t(u64, max, e->len - skip);
	return e->va + skip;
}

/* As iwt_mr_get(), but write-locked, and valid or not; the key of @stag is ignored. */
static struct iwt_mr *get_for_change(struct iwt_dev *dev, u32 stag)
	__no_context_analysis
{
	struct iwt_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> KEY_BITS);
	if (!mr) {
		rcu_read_unlock();
		return NULL;
	}
	write_lock_bh(&mr->lock);
	return hand_out(mr);
}

static void put_changed(struct iwt_mr *mr)
	__no_context_analysis
{
	take_back(mr);
	write_unlock_bh(&mr->lock);
	rcu_read_unlock();
}

/*
 * A consumer may invalidate a region that is not valid: before its first registration, or a
 * second time. The key of such a region is the consumer's choice, so it does not count. A peer
 * may do neither (RFC 5040 5.3).
 */
static u32 check_invalidate(const struct iwt_mr *mr, u32 stag,
			    const struct ib_pd *pd, bool remote)
{
	bool valid = mr->region.valid;

	if (remote && (mr->stag != stag || !valid))
		return IWT_ERR_OP_INVAL;
	if (mr->region.pd != pd)
		return remote ? IWT_ERR_PROT_INVAL : IWT_ERR_LOCAL;
	if (mr->kind != IWT_MR_FAST)
		return remote ? IWT_ERR_OP_INVAL : IWT_ERR_LOCAL;
	return valid && mr->stag != stag ? IWT_ERR_LOCAL : IWT_OK;
}

/**
 * iwt_mr_invalidate() - make an STag invalid, keep its region
 * @dev: device
 * @stag: all bits count, but those of the key if a consumer invalidates a region
 *	that is not valid
 * @pd: protection domain of the queue pair
 * @remote: on behalf of the peer (Send with Invalidate, RFC 5040 5.3)
 *
 * Only regions for fast registration can be invalidated. Never sleeps.
 *
 * Return: IWT_OK, or what a Terminate would say (RFC 5040 4.8).
 */
u32 iwt_mr_invalidate(struct iwt_dev *dev, u32 stag, const struct ib_pd *pd,
		      bool remote)
{
	struct iwt_mr *mr = get_for_change(dev, stag);
	u32 err;

	if (!mr)
		return remote ? IWT_ERR_OP_INVAL : IWT_ERR_LOCAL;
	err = check_invalidate(mr, stag, pd, remote);
	if (!err)
		mr->region.valid = false;
	put_changed(mr);
	return err;
}

/* What iwt_mr_map_sg() described becomes the region. */
static void take_next(struct iwt_mr *mr)
{
	if (mr->next_ready) {
		swap(mr->map, mr->next);
		mr->next_ready = false;
	}
	mr->region.base = mr->ibmr.iova;
	mr->region.len = mr->ibmr.length;
}

/**
 * iwt_mr_register() - work request REG_MR
 * @dev: device
 * @stag: the region's index and its new key
 * @pd: protection domain of the queue pair
 * @access: enum ib_access_flags
 *
 * Never sleeps.
 *
 * Return: IWT_OK, or IWT_ERR_LOCAL if this is no invalid region for fast registration of the
 * same domain, with pages, or if the flags are none that it can have.
 */
u32 iwt_mr_register(struct iwt_dev *dev, u32 stag, const struct ib_pd *pd,
		    int access)
{
	u32 rights, err = IWT_ERR_LOCAL;
	struct iwt_mr *mr;

	if (iwt_mr_rights(access, &rights))
		return IWT_ERR_LOCAL;
	mr = get_for_change(dev, stag);
	if (!mr)
		return IWT_ERR_LOCAL;
	if (mr->kind == IWT_MR_FAST && mr->region.pd == pd &&
	    !mr->region.valid && (mr->next_ready || mr->map.n)) {
		take_next(mr);
		mr->stag = stag;
		mr->access = access;
		mr->region.rights = rights;
		mr->region.valid = true;
		err = IWT_OK;
	}
	put_changed(mr);
	return err;
}
