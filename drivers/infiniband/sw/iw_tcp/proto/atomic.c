// SPDX-License-Identifier: GPL-2.0
/* Atomic operations (RFC 7306 5): headers and arithmetic. */
#include "atomic.h"

#include <asm/byteorder.h>

/**
 * iwt_atomic_parse() - read an Atomic Request header (RFC 7306 5.2.1)
 * @hdr: private copy of the 52 octets after the DDP header
 * @a: request; the function sets all fields
 *
 * The reserved bits are ignored.
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
 * @a: request
 * @hdr: buffer of 52 octets, after the DDP header
 *
 * A FetchAdd does not compare: its compare fields contain the values that the RFC prescribes.
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
 * @hdr: private copy of the 12 octets after the DDP header
 * @id: Request Identifier of the request
 * @value: value of the memory before the operation
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
 * @value: value of the memory before the operation
 * @hdr: buffer of 12 octets, after the DDP header
 */
void iwt_atomic_build_resp(u32 id, u64 value, u8 *hdr)
{
	struct iwt_atomic_resp *w = (void *)hdr;

	w->id = cpu_to_be32(id);
	w->value = cpu_to_be64(value);
}

/**
 * iwt_atomic_check() - is the operation known?
 * @a: request
 *
 * Return: IWT_OK or the error for the Terminate. RFC 7306 defines no error code for a reserved
 * operation.
 */
u32 iwt_atomic_check(const struct iwt_atomic *a)
{
	if (a->op == IWT_AOP_FETCH_ADD || a->op == IWT_AOP_CMP_SWAP)
		return IWT_OK;
	return IWT_ERR_OP_OPCODE;
}

/*
 * Add each field separately. @a->data_mask has the top bit of each field. The sum leaves out the
 * top bits, so that no carry reaches the next field. The top bits are then added without carry.
 */
static u64 fetch_add(const struct iwt_atomic *a, u64 old)
{
	u64 top = a->data_mask;

	return ((old & ~top) + (a->data & ~top)) ^ ((old ^ a->data) & top);
}

/**
 * iwt_atomic_result() - compute the new value of the memory (RFC 7306 5.1)
 * @a: request for which iwt_atomic_check() returned IWT_OK
 * @old: present value of the memory
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
