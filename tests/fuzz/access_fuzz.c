// SPDX-License-Identifier: GPL-2.0
/* Compares access checks with arithmetic that cannot overflow. */
#include "access.h"
#include "fuzz.h"

typedef unsigned __int128 u128;

static enum iwt_access_verdict model(const struct iwt_region *r, const void *pd,
				     u64 addr, u64 len, u32 need)
{
	u128 end = (u128)addr + len;

	if (len == 0)
		return IWT_ACCESS_OK;
	if (r == NULL || r->valid == false)
		return IWT_ACCESS_STAG;
	if (pd != r->pd)
		return IWT_ACCESS_PD;
	if (end > (u128)1 << 64)
		return IWT_ACCESS_WRAP;
	if (addr < r->base || end > (u128)r->base + r->len)
		return IWT_ACCESS_BOUNDS;
	return (need & r->rights) == need ? IWT_ACCESS_OK : IWT_ACCESS_RIGHTS;
}

/* Numbers near the values where arithmetic goes wrong. */
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
	u32 bits = take(&in, 1), need = take(&in, 1) % 32;
	static const u8 pd[2];
	struct iwt_region r = {
		.rights = take(&in, 1) % 32,
		.valid = bits & 3,
		.pd = &pd[(bits & 12) == 12],
	};
	enum iwt_access_verdict want;
	u64 addr, len;

	r.base = number(&in, 0);
	/* No region passes 2^64: the code that makes regions ensures this. */
	r.len = number(&in, r.base);
	if (r.base && r.len > -r.base)
		r.len = -r.base;
	addr = number(&in, bits & 16 ? r.base : r.base + r.len);
	len = number(&in, bits & 32 ? r.len : addr);
	want = model(bits & 64 && bits & 128 ? NULL : &r, pd, addr, len, need);
	SAME(iwt_access_check(bits & 64 && bits & 128 ? NULL : &r, pd, addr,
			      len, need), want);
	SAME(!iwt_access_tagged_err(want), want == IWT_ACCESS_OK);
	SAME(!iwt_access_read_err(want), want == IWT_ACCESS_OK);
	return 0;
}
