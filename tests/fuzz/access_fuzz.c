// SPDX-License-Identifier: GPL-2.0
/* Compares the driver's access checks with arithmetic that cannot overflow. */
#include "access.h"
#include "fuzz.h"

typedef unsigned __int128 u128;

static enum iwt_access_verdict model(const struct iwt_region *r,
				     const struct iwt_party *who, u64 addr,
				     u64 len, u32 need)
{
	u128 end = (u128)addr + len;

	if (len == 0)
		return IWT_ACCESS_OK;
	if (r == NULL || r->valid == false)
		return IWT_ACCESS_STAG;
	if (r->owner != (const void *)who && r->owner != who->pd)
		return IWT_ACCESS_ASSOC;
	if (end > (u128)1 << 64)
		return IWT_ACCESS_WRAP;
	if (addr < r->base || end > (u128)r->base + r->len)
		return IWT_ACCESS_BOUNDS;
	return (need & r->rights) == need ? IWT_ACCESS_OK : IWT_ACCESS_RIGHTS;
}

/*
 * Return: a number from the input. In most cases the number is near 0, @near, 2^63 or 2^64 -
 * @near.
 */
static u64 number(struct input *in, u64 near)
{
	u32 how = take(in, 1);
	s8 off = take(in, 1);

	switch (how % 6) {
	case 0:
		return (u64)off;
	case 1:
		return near + off;
	case 2:
		return (1ULL << 63) + off;
	case 3:
		return -near + off;
	case 4:
		return take(in, 2);
	default:
		return take(in, 8);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 bits = take(&in, 1), need = take(&in, 1) % 64;
	static const u8 pd[2];
	static const struct iwt_party who[2] = { { pd }, { pd } };
	static const void *const owners[] = {
		&pd[0], &pd[1], &who[0], &who[1],
	};
	struct iwt_region r = {
		.rights = take(&in, 1) % 64,
		.valid = bits & 3,
		.owner = owners[bits >> 2 & 3],
	};
	enum iwt_access_verdict want;
	u64 addr, len;

	r.base = number(&in, 0);
	/* No region extends beyond 2^64: the code that creates regions ensures this. */
	r.len = number(&in, r.base);
	if (r.base && r.len > -r.base)
		r.len = -r.base;
	addr = number(&in, bits & 16 ? r.base : r.base + r.len);
	len = number(&in, bits & 32 ? r.len : addr);
	want = model(bits & 64 && bits & 128 ? NULL : &r, who, addr, len, need);
	SAME(iwt_access_check(bits & 64 && bits & 128 ? NULL : &r, who, addr,
			      len, need), want);
	SAME(!iwt_access_tagged_err(want), want == IWT_ACCESS_OK);
	SAME(!iwt_access_read_err(want), want == IWT_ACCESS_OK);
	return 0;
}
