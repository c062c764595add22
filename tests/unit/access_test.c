// SPDX-License-Identifier: GPL-2.0
/* Checks which accesses a region or window allows: bounds, rights, validity and owners. */
#include "access.h"
#include "unit.h"

static const int pd, other_pd;
static const struct iwt_party us = { &pd }, neighbour = { &pd };

static struct iwt_region region(u64 base, u64 len)
{
	return (struct iwt_region){
		.base = base,
		.len = len,
		.rights = IWT_REMOTE_WRITE,
		.valid = true,
		.owner = &pd,
	};
}

#define VERDICT(r, addr, len) \
	iwt_access_check(r, &us, addr, len, IWT_REMOTE_WRITE)

static void test_bounds(void)
{
	struct iwt_region r = region(0x1000, 0x100);

	tap_begin("access: every octet near the bounds of a region");
	CHECK_EQ(VERDICT(&r, 0x1000, 0x100), IWT_ACCESS_OK);
	CHECK_EQ(VERDICT(&r, 0x1000, 1), IWT_ACCESS_OK);
	CHECK_EQ(VERDICT(&r, 0x10ff, 1), IWT_ACCESS_OK);
	CHECK_EQ(VERDICT(&r, 0x1000, 0x101), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 0x1001, 0x100), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 0xfff, 1), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 0xfff, 2), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 0x1100, 1), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 0x1101, 1), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 0, ~0ULL), IWT_ACCESS_BOUNDS);
	CHECK_EQ(iwt_access_room(&r, 0x1000), 0x100);
	CHECK_EQ(iwt_access_room(&r, 0x10ff), 1);
	r = region(0x1000, 0);
	CHECK_EQ(VERDICT(&r, 0x1000, 1), IWT_ACCESS_BOUNDS);
	tap_end();
}

static void test_top(void)
{
	struct iwt_region r = region(-0x10ULL, 0x10);

	tap_begin("access: a region that ends at 2^64");
	CHECK_EQ(VERDICT(&r, -0x10ULL, 0x10), IWT_ACCESS_OK);
	CHECK_EQ(VERDICT(&r, -1ULL, 1), IWT_ACCESS_OK);
	CHECK_EQ(VERDICT(&r, -8ULL, 0x10), IWT_ACCESS_WRAP);
	CHECK_EQ(VERDICT(&r, -1ULL, 2), IWT_ACCESS_WRAP);
	CHECK_EQ(VERDICT(&r, -0x11ULL, 1), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 0, 1), IWT_ACCESS_BOUNDS);
	CHECK_EQ(iwt_access_room(&r, -0x10ULL), 0x10);
	CHECK_EQ(iwt_access_room(&r, -1ULL), 1);
	r = region(0, ~0ULL);
	CHECK_EQ(iwt_access_room(&r, 5), ~0ULL - 5);
	CHECK_EQ(VERDICT(&r, 0, ~0ULL), IWT_ACCESS_OK);
	CHECK_EQ(VERDICT(&r, ~0ULL, 1), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 1, ~0ULL), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, 2, ~0ULL), IWT_ACCESS_WRAP);
	tap_end();
}

static void test_order(void)
{
	struct iwt_region r = region(0x1000, 0x100);

	tap_begin("access: the first check that fails decides the verdict");
	CHECK_EQ(VERDICT(NULL, -1ULL, 2), IWT_ACCESS_STAG);
	r.rights = IWT_REMOTE_READ | IWT_LOCAL_WRITE;
	CHECK_EQ(VERDICT(&r, 0x1000, 1), IWT_ACCESS_RIGHTS);
	CHECK_EQ(VERDICT(&r, 0, 1), IWT_ACCESS_BOUNDS);
	CHECK_EQ(VERDICT(&r, -1ULL, 2), IWT_ACCESS_WRAP);
	r.owner = &other_pd;
	CHECK_EQ(VERDICT(&r, -1ULL, 2), IWT_ACCESS_ASSOC);
	r.owner = &neighbour;
	CHECK_EQ(VERDICT(&r, -1ULL, 2), IWT_ACCESS_ASSOC);
	r.valid = false;
	CHECK_EQ(VERDICT(&r, -1ULL, 2), IWT_ACCESS_STAG);
	CHECK_EQ(VERDICT(&r, -1ULL, 0), IWT_ACCESS_OK);
	CHECK_EQ(VERDICT(NULL, -1ULL, 0), IWT_ACCESS_OK);
	tap_end();
}

static void test_owner(void)
{
	struct iwt_region r = region(0, 16);

	tap_begin("access: a domain admits all its streams, a stream admits only itself");
	CHECK_EQ(VERDICT(&r, 0, 16), IWT_ACCESS_OK);
	CHECK_EQ(iwt_access_check(&r, &neighbour, 0, 16, IWT_REMOTE_WRITE),
		 IWT_ACCESS_OK);
	r.owner = &us;
	CHECK_EQ(VERDICT(&r, 0, 16), IWT_ACCESS_OK);
	CHECK_EQ(iwt_access_check(&r, &neighbour, 0, 16, IWT_REMOTE_WRITE),
		 IWT_ACCESS_ASSOC);
	r.owner = NULL;
	CHECK_EQ(VERDICT(&r, 0, 16), IWT_ACCESS_ASSOC);
	tap_end();
}

static void test_rights(void)
{
	struct iwt_region r = region(0, 16);
	u32 need, have;

	tap_begin("access: without one of the needed rights access is refused");
	for (have = 0; have < 64; have++) {
		for (need = 0; need < 64; need++) {
			r.rights = have;
			CHECK_EQ(iwt_access_check(&r, &us, 0, 16, need),
				 need & ~have ? IWT_ACCESS_RIGHTS :
				 IWT_ACCESS_OK);
		}
	}
	tap_end();
}

static void test_errors(void)
{
	tap_begin("access: the error of a Terminate for each verdict");
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_OK), IWT_OK);
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_STAG), 0x11100);
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_BOUNDS), 0x11101);
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_ASSOC), 0x11102);
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_WRAP), 0x11103);
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_RIGHTS), 0x10102);
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_ABSENT), IWT_ERR_ABSENT);
	CHECK_EQ(iwt_access_tagged_err(IWT_ACCESS_FAILED), IWT_ERR_DDP_LOCAL);
	CHECK_EQ(iwt_access_tagged_err(99), IWT_ERR_DDP_LOCAL);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_OK), IWT_OK);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_STAG), 0x10100);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_BOUNDS), 0x10101);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_RIGHTS), 0x10102);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_ASSOC), 0x10103);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_WRAP), 0x10104);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_ABSENT), IWT_ERR_ABSENT);
	CHECK_EQ(iwt_access_read_err(IWT_ACCESS_FAILED), IWT_ERR_LOCAL);
	CHECK_EQ(iwt_access_read_err(99), IWT_ERR_LOCAL);
	tap_end();
}

void test_access(void)
{
	test_bounds();
	test_top();
	test_order();
	test_owner();
	test_rights();
	test_errors();
}
