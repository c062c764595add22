// SPDX-License-Identifier: GPL-2.0
/* Atomic operations (RFC 7306 5): headers and arithmetic. */
#include "atomic.h"

#include <asm/byteorder.h>

/**
 * iwt_atomic_parse() - read an Atomic Request header (RFC 7306 5.2.1)
 * @hdr: the 52 octets that follow the DDP header, a private copy
 * @a: all of it is set
 *
 * The reserved bits are not looked at.
 */
void iwt_atomic_parse(const u8 *hdr, struct iwt_atomic *a)
{
	const struct iwt_atomic_req *w = (const void *)hdr;

	a->op = be32_to_cpu(w->aopcode) & IWT_AOP_MASK;
	a->id = be32_to_cpu(w->id);
	a->stag = be32_to_cpu(w->stag);
	a->to = be64_to_cpu(w->to);
	a->data = be64_to_cpu(w->data);
	a->data_mask = be64_to_cpu(w->data_mask);
	a->compare = be64_to_cpu(w->compare);
	a->compare_mask = be64_to_cpu(w->compare_mask);
}

/**
 * iwt_atomic_build() - write an Atomic Request header (RFC 7306 5.2.1)
 * @a: what to write
 * @hdr: room for 52 octets, those that follow the DDP header
 *
 * A FetchAdd compares nothing: those fields get the values that the RFC wants.
 */
void iwt_atomic_build(const struct iwt_atomic *a, u8 *hdr)
{
	struct iwt_atomic_req *w = (void *)hdr;
	bool compares = a->op != IWT_AOP_FETCH_ADD;

	w->aopcode = cpu_to_be32(a->op & IWT_AOP_MASK);
	w->id = cpu_to_be32(a->id);
	w->stag = cpu_to_be32(a->stag);
	w->to = cpu_to_be64(a->to);
	w->data = cpu_to_be64(a->data);
	w->data_mask = cpu_to_be64(a->data_mask);
	w->compare = cpu_to_be64(compares ? a->compare : 0);
	w->compare_mask = cpu_to_be64(compares ? a->compare_mask : ~0ull);
}

/**
 * iwt_atomic_parse_resp() - read an Atomic Response header (RFC 7306 5.2.2)
 * @hdr: the 12 octets that follow the DDP header, a private copy
 * @id: Request Identifier of the request
 * @value: what the memory held before
 */
void iwt_atomic_parse_resp(const u8 *hdr, u32 *id, u64 *value)
{
	const struct iwt_atomic_resp *w = (const void *)hdr;

	*id = be32_to_cpu(w->id);
	*value = be64_to_cpu(w->value);
}

/**
 * iwt_atomic_build_resp() - write an Atomic Response header (RFC 7306 5.2.2)
 * @id: Request Identifier of the request
 * @value: what the memory held before
 * @hdr: room for 12 octets, those that follow the DDP header
 */
void iwt_atomic_build_resp(u32 id, u64 value, u8 *hdr)
{
	struct iwt_atomic_resp *w = (void *)hdr;

	w->id = cpu_to_be32(id);
	w->value = cpu_to_be64(value);
}

/**
 * iwt_atomic_check() - is this a known operation?
 * @a: request
 *
 * Return: IWT_OK, or what a Terminate is to say; RFC 7306 names no code for a reserved one.
 */
u32 iwt_atomic_check(const struct iwt_atomic *a)
{
	if (a->op == IWT_AOP_FETCH_ADD || a->op == IWT_AOP_CMP_SWAP)
		return IWT_OK;
	return IWT_ERR_OP_OPCODE;
}

/*
 * Adds field by field: the top bits of the fields stay out of the sum, so that no carry passes
 * them, and are added without carry afterwards.
 */
static u64 fetch_add(const struct iwt_atomic *a, u64 old)
{
	u64 top = a->data_mask;

	return ((old & ~top) + (a->data & ~top)) ^ ((old ^ a->data) & top);
}

/**
 * iwt_atomic_result() - what the memory holds afterwards (RFC 7306 5.1)
 * @a: request, found good by iwt_atomic_check()
 * @old: what it holds now
 *
 * Return: the new value.
 */
u64 iwt_atomic_result(const struct iwt_atomic *a, u64 old)
{
	if (a->op == IWT_AOP_FETCH_ADD)
		return fetch_add(a, old);
	if ((old ^ a->compare) & a->compare_mask)
		return old;
	return (old & ~a->data_mask) | (a->data & a->data_mask);
}
