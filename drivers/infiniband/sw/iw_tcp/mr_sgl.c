// SPDX-License-Identifier: GPL-2.0
/* Access to the memory of scatter/gather lists, with all checks. */
#include "mr_sgl.h"

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "mr.h"
#include "mr_copy.h"

/**
 * iwt_mem_piece() - find memory of one region
 * @at: only the members actor, hold and need are used; afterwards @at->hold holds the region, so
 *	the memory stays valid
 * @stag: STag of the region
 * @addr: tagged offset
 * @piece: set to the address of the memory
 * @len: number of bytes; access to all of these bytes must be allowed, otherwise the access is
 *	denied. Set to the number of contiguous bytes at @piece
 *
 * Bottom halves off, never sleeps.
 *
 * Return: IWT_ACCESS_OK, or the reason why the access is not possible; IWT_ACCESS_ABSENT if the
 * stream has to wait for the memory.
 */
enum iwt_access_verdict iwt_mem_piece(const struct iwt_place *at, u32 stag, u64 addr, u8 **piece,
				      u32 *len)
{
	struct iwt_mr *mr = iwt_hold_mr(at->hold, at->actor->dev, stag);
	bool writes = at->need & IWT_LOCAL_WRITE;
	u32 max = *len;
	enum iwt_access_verdict v;

	if (!mr)
		return IWT_ACCESS_STAG;
	v = iwt_access_check(&mr->region, &at->actor->party, addr, max, at->need);
	if (v != IWT_ACCESS_OK)
		return v;
	*piece = iwt_mr_piece(mr, addr, max, len, &at->hold->hint, writes);
	if (*piece)
		return IWT_ACCESS_OK;
	return iwt_mr_miss(mr, &at->hold->fault, addr, max, writes);
}

/**
 * iwt_sgl_piece() - find memory at a place in a list
 * @at: place; this function moves the place to the element that contains the piece, but not past
 *	the piece
 * @piece: set to the address of the memory
 * @len: maximum number of bytes; access to all of these bytes that are in the same element must
 *	be allowed, otherwise the access is denied. Set to the number of contiguous bytes at
 *	@piece, which is not 0
 *
 * Bottom halves off, never sleeps.
 *
 * Return: as iwt_mem_piece(); IWT_ACCESS_BOUNDS at the end of the list.
 */
enum iwt_access_verdict iwt_sgl_piece(struct iwt_place *at, u8 **piece, u32 *len)
{
	const struct iwt_sge *s;

	while (at->pos.i < at->n && at->pos.off >= at->sge[at->pos.i].length) {
		at->pos.i++;
		at->pos.off = 0;
	}
	if (at->pos.i >= at->n)
		return IWT_ACCESS_BOUNDS;
	s = &at->sge[at->pos.i];
	*len = min(*len, s->length - at->pos.off);
	if (!iwt_is_kernel_va(at->actor, s->lkey))
		return iwt_mem_piece(at, s->lkey, s->addr + at->pos.off, piece, len);
	*piece = (u8 *)(uintptr_t)s->addr + at->pos.off;
	return IWT_ACCESS_OK;
}

/**
 * iwt_sgl_check() - check access to all elements of a list
 * @actor: PD and stream for which memory is accessed
 * @sge: private copy of the list
 * @n: number of elements
 * @need: rights that the access needs (enum iwt_rights)
 *
 * Access is checked again when bytes are copied. This first check finds a bad list before any
 * byte of the message is sent. Empty elements are not checked. Bottom halves may be on or off;
 * never sleeps.
 *
 * Return: the first verdict that is not IWT_ACCESS_OK, or IWT_ACCESS_OK.
 */
enum iwt_access_verdict iwt_sgl_check(const struct iwt_actor *actor,
				      const struct iwt_sge *sge, u32 n, u32 need)
{
	enum iwt_access_verdict v = IWT_ACCESS_OK;
	u32 i;

	for (i = 0; i < n && v == IWT_ACCESS_OK; i++) {
		struct iwt_mr *mr;

		if (!sge[i].length || iwt_is_kernel_va(actor, sge[i].lkey))
			continue;
		mr = iwt_mr_get(actor->dev, sge[i].lkey);
		if (!mr)
			return IWT_ACCESS_STAG;
		v = iwt_access_check(&mr->region, &actor->party, sge[i].addr,
				     sge[i].length, need);
		iwt_mr_put(mr);
	}
	return v;
}

/**
 * iwt_sgl_scatter() - copy linear memory to the memory of a list
 * @at: place; @at->need includes IWT_LOCAL_WRITE. This function moves the place over the copied
 *	bytes
 * @from: source
 * @len: number of bytes to copy
 * @left: @len plus the number of bytes of the same FPDU that later calls will copy. If memory is
 *	absent, this function requests the memory for all of these bytes that are in the same
 *	element, so that the stream does not wait for each page in turn
 *
 * Bottom halves off, never sleeps.
 *
 * Return: as iwt_sgl_piece().
 */
enum iwt_access_verdict iwt_sgl_scatter(struct iwt_place *at, const u8 *from, u32 len, u32 left)
{
	while (len) {
		enum iwt_access_verdict v;
		u32 part = left;
		u8 *mem;

		v = iwt_sgl_piece(at, &mem, &part);
		if (v != IWT_ACCESS_OK)
			return v;
		part = min(part, len);
		/* a program may poll the last bytes, so store them last */
		if (part < left)
			iwt_copy(mem, from, part);
		else
			iwt_copy_out(mem, from, part);
		at->pos.off += part;
		from += part;
		len -= part;
		left -= part;
	}
	return IWT_ACCESS_OK;
}

/*
 * Execute the operation by the CPU's compare and swap instruction, so that the operation is also
 * atomic with respect to programs on this machine that access the word. Return: the old value.
 */
static u64 exchange(u64 *word, const struct iwt_atomic *a)
{
	u64 old = READ_ONCE(*word);

	while (!try_cmpxchg64(word, &old, iwt_atomic_result(a, old)))
		;
	return old;
}

/*
 * Return: error for an atomic operation, if iwt_mr_piece() did not find the memory. If @old is
 * NULL, the operation is only checked, and absent memory of an on-demand region is no error: the
 * memory is requested when the operation is performed.
 */
static u32 no_word(const struct iwt_mr *mr, const struct iwt_atomic *a,
		   const u64 *old, struct iwt_fault *fault)
{
	if (mr->kind == IWT_MR_ODP &&
	    !IS_ALIGNED(iwt_mr_user_va(mr, a->to), IWT_ATOMIC_LEN))
		return IWT_ERR_OP_STREAM;
	if (mr->kind == IWT_MR_ODP && !old)
		return IWT_OK;
	return iwt_access_read_err(iwt_mr_miss(mr, fault, a->to,
					       IWT_ATOMIC_LEN, true));
}

/**
 * iwt_mem_atomic() - perform or check an atomic operation of the peer on a region
 * @actor: PD and stream for which memory is accessed
 * @a: request
 * @old: set to the old value; NULL to check only whether the operation is allowed
 * @fault: fault of this direction of the stream, for absent memory; unused if @old is NULL
 *
 * The memory address must be a multiple of 8; the tagged offset need not be aligned (RFC 7306
 * 5.1). Never sleeps.
 *
 * Return: IWT_OK or the error for a Terminate (RFC 7306 8.2, RFC 5040 4.8); %IWT_ERR_ABSENT if
 * the operation was not done because the stream has to wait for the memory.
 */
u32 iwt_mem_atomic(const struct iwt_actor *actor, const struct iwt_atomic *a,
		   u64 *old, struct iwt_fault *fault)
{
	struct iwt_mr *mr = iwt_mr_get(actor->dev, a->stag);
	u32 err, hint = 0, n;
	u8 *mem;

	if (!mr)
		return iwt_access_read_err(IWT_ACCESS_STAG);
	err = iwt_access_read_err(iwt_access_check(&mr->region, &actor->party, a->to,
						   IWT_ATOMIC_LEN,
						   IWT_REMOTE_ATOMIC));
	if (err)
		goto out;
	mem = iwt_mr_piece(mr, a->to, IWT_ATOMIC_LEN, &n, &hint, true);
	if (!mem)
		err = no_word(mr, a, old, fault);
	else if (!IS_ALIGNED((uintptr_t)mem, IWT_ATOMIC_LEN))
		err = IWT_ERR_OP_STREAM;
	else if (n != IWT_ATOMIC_LEN)
		err = IWT_ERR_PROT_BOUNDS;
	else if (old)
		*old = exchange((u64 *)mem, a);
out:
	iwt_mr_put(mr);
	return err;
}
