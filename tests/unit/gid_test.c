// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the table of GIDs (gid.c) while addresses come and go, how many addresses the driver
 * visits when one address changes, and what the RDMA core reads from the table.
 */
#include "gid/compat/ib_ops.h"
#include "gid/dev.h"
#include "gid.h"
#include "unit.h"

#define ENTRIES	(IWT_GIDS - 1)	/* entry 0 is no address */

bool unit_cm_by_netdev = true;
static const struct task_struct tasks[2];
const struct task_struct *unit_task = &tasks[0];

static struct net_device nd;
static struct iwt_dev dev;

static void begin(void)
{
	nd = (struct net_device){};
	dev = (struct iwt_dev){ .netdev = &nd };
	iwt_gid_setup(&dev);
}

static struct in6_addr ip6(u32 number)
{
	struct in6_addr addr = { .s6_addr = { number & 1 ? 0xfe : 0xfd, 0x80 } };

	memcpy(addr.s6_addr + 8, &number, sizeof(number));
	return addr;
}

static union ib_gid add4(u32 ip4)
{
	nd.ip4[nd.n4++].ifa_local = ip4;
	return iwt_gid_of_ip4(ip4);
}

/* Inserts the address at the beginning, as the kernel does. */
static union ib_gid add6(u32 number)
{
	struct in6_addr addr = ip6(number);

	memmove(nd.ip6 + 1, nd.ip6, nd.n6++ * sizeof(nd.ip6[0]));
	nd.ip6[0] = (struct inet6_ifaddr){ .addr = addr };
	return iwt_gid_of_ip6(&addr);
}

static union ib_gid del4(u32 i)
{
	union ib_gid gid = iwt_gid_of_ip4(nd.ip4[i].ifa_local);

	memmove(nd.ip4 + i, nd.ip4 + i + 1, (--nd.n4 - i) * sizeof(nd.ip4[0]));
	return gid;
}

static union ib_gid del6(u32 i)
{
	union ib_gid gid = iwt_gid_of_ip6(&nd.ip6[i].addr);

	memmove(nd.ip6 + i, nd.ip6 + i + 1, (--nd.n6 - i) * sizeof(nd.ip6[0]));
	return gid;
}

static u32 at(const union ib_gid *gid)
{
	u32 i;

	for (i = 1; i <= ENTRIES && memcmp(&dev.gids.gid[i], gid, sizeof(*gid)); i++)
		;
	return i <= ENTRIES ? i : 0;
}

static u32 used(void)
{
	u32 i, n = 0;

	for (i = 1; i <= ENTRIES; i++)
		n += !rdma_is_zero_gid(&dev.gids.gid[i]);
	return n;
}

/* The driver learns of the change of an address: the table becomes what all addresses require. */
static bool learn(union ib_gid gid)
{
	struct iwt_gid_table was = dev.gids;
	bool changed = iwt_gid_change(&dev, &gid);
	u32 i;

	CHECK_EQ(changed, !!memcmp(was.gid, dev.gids.gid, sizeof(was.gid)));
	for (i = 1; i <= ENTRIES; i++)
		if (memcmp(&was.gid[i], &gid, sizeof(gid)) && !rdma_is_zero_gid(&was.gid[i]))
			CHECK(!memcmp(&was.gid[i], &dev.gids.gid[i], sizeof(gid)));
	CHECK(!iwt_gid_refresh(&dev));
	return changed;
}

static void test_changes(void)
{
	u32 round;

	tap_begin("GIDs: after each change the table has the addresses that fit");
	begin();
	for (round = 0; round < 20000; round++) {
		u32 most = 5 + round / 500;

		switch (any() % 4) {
		case 0:
			/* an address may exist twice, with two prefixes */
			if (nd.n4 < most)
				learn(add4(1 + any() % most));
			break;
		case 1:
			if (nd.n6 < most)
				learn(add6(round));
			break;
		case 2:
			if (nd.n4)
				learn(del4(any() % nd.n4));
			break;
		default:
			if (nd.n6)
				learn(del6(any() % nd.n6));
		}
	}
	tap_end();
}

/* An address that is being removed is still in the list, and must not get an entry. */
static void test_dead(void)
{
	union ib_gid gid, next;
	u32 i;

	tap_begin("GIDs: an address that is being removed gets no entry");
	begin();
	for (i = 0; i < ENTRIES + 2; i++)
		learn(add6(2 * i));
	gid = iwt_gid_of_ip6(&nd.ip6[nd.n6 - 1].addr);
	next = iwt_gid_of_ip6(&nd.ip6[1].addr);
	CHECK(at(&gid) && !at(&next));
	nd.ip6[nd.n6 - 1].state = INET6_IFADDR_STATE_DEAD;
	nd.ip6[0].flags = IFA_F_DADFAILED;
	CHECK(learn(gid));
	CHECK(!at(&gid) && at(&next));
	CHECK_EQ(used(), ENTRIES);
	tap_end();
}

/* The refresh removes the entries of addresses of whose removal nobody has told the driver. */
static void test_refresh(void)
{
	union ib_gid gone, left, last;
	u32 i;

	tap_begin("GIDs: a refresh finds all changes");
	begin();
	for (i = 0; i < ENTRIES + 1; i++)
		last = add4(i + 1);
	CHECK(iwt_gid_refresh(&dev) && !iwt_gid_refresh(&dev));
	CHECK(!at(&last));
	left = iwt_gid_of_ip4(nd.ip4[4].ifa_local);
	i = at(&left);
	gone = del4(3);
	CHECK(at(&gone));
	CHECK(iwt_gid_refresh(&dev) && !iwt_gid_refresh(&dev));
	CHECK(!at(&gone) && at(&last));
	gone = del4(0);
	CHECK(iwt_gid_refresh(&dev) && !iwt_gid_refresh(&dev));
	CHECK(!at(&gone) && at(&left) == i);
	CHECK_EQ(used(), ENTRIES - 1);
	tap_end();
}

static void test_visits(void)
{
	u32 i, most = 0, sum = 0;

	tap_begin("GIDs: a change of one address does not compare all addresses with all entries");
	begin();
	for (i = 0; i < UNIT_ADDRS; i++) {
		union ib_gid gid = add6(2 * i);

		nd.visited = 0;
		CHECK_EQ(iwt_gid_change(&dev, &gid), i < ENTRIES);
		if (i >= ENTRIES)
			CHECK_EQ(nd.visited, 0);
	}
	/* the kernel removes all addresses: each step looks for at most one address */
	while (nd.n6) {
		union ib_gid gid = del6(0);
		bool had = at(&gid);
		u32 left = nd.n6;

		nd.visited = 0;
		CHECK_EQ(iwt_gid_change(&dev, &gid), had);
		if (!had && left >= ENTRIES)
			CHECK_EQ(nd.visited, 0);
		sum += nd.visited;
		most = nd.visited > most ? nd.visited : most;
	}
	CHECK_EQ(used(), 0);
	CHECK(most <= 4 * ENTRIES);
	CHECK(sum <= 4 * ENTRIES * ENTRIES);
	tap_end();
}

/* Return: true if iwt_query_gid() says that entry @idx has this GID. */
static bool says(int idx, const union ib_gid *gid)
{
	union ib_gid got;

	memset(&got, 0xff, sizeof(got));
	return !iwt_query_gid(&dev.ibdev, 1, idx, &got) && !memcmp(&got, gid, sizeof(got));
}

/* Return: true if iwt_get_netdev() returns the net device, with a reference. */
static bool has_netdev(void)
{
	u32 refs = nd.refs;

	if (iwt_get_netdev(&dev.ibdev, 1) == &nd)
		return nd.refs == refs + 1;
	CHECK_EQ(nd.refs, refs);
	return false;
}

/* @by_netdev: false for an older kernel, on which the last entry is a copy of entry 0 */
static void fill_table(bool by_netdev, union ib_gid *own)
{
	u32 i;

	unit_cm_by_netdev = by_netdev;
	begin();
	memcpy(dev.addr, "\2abcde", sizeof(dev.addr));
	for (i = 0; i < IWT_GIDS; i++)
		add4(i + 1);
	iwt_gid_refresh(&dev);
	*own = (union ib_gid){};
	memcpy(own->raw, dev.addr, sizeof(dev.addr));
	if (by_netdev)
		memcpy(own->raw + 8, dev.addr, sizeof(dev.addr));
	else
		memset(own->raw + 6, 0x5a, 10);
}

static void test_query(void)
{
	union ib_gid own, none;
	u32 by_netdev, i;

	tap_begin("GIDs: the RDMA core reads each entry");
	for (by_netdev = 0; by_netdev < 2; by_netdev++) {
		fill_table(by_netdev, &own);
		tap_about("by_netdev %u", by_netdev);
		CHECK(says(0, &own));
		for (i = 1; i < ENTRIES; i++)
			CHECK(!rdma_is_zero_gid(&dev.gids.gid[i]) && says(i, &dev.gids.gid[i]));
		if (by_netdev)
			CHECK(!rdma_is_zero_gid(&dev.gids.gid[ENTRIES]) && says(ENTRIES, &dev.gids.gid[ENTRIES]));
		else
			CHECK(rdma_is_zero_gid(&dev.gids.gid[ENTRIES]) && says(ENTRIES, &own));
		CHECK_EQ(iwt_query_gid(&dev.ibdev, 1, -1, &none), -EINVAL);
		CHECK_EQ(iwt_query_gid(&dev.ibdev, 1, IWT_GIDS, &none), -EINVAL);
	}
	tap_end();
}

/* The RDMA core must fill entry 0 only once: the second time, it gets no net device. */
static void test_refill(void)
{
	union ib_gid own;
	u32 again;

	tap_begin("GIDs: the RDMA core fills entry 0 once");
	fill_table(true, &own);
	CHECK(has_netdev());
	CHECK(says(1, &dev.gids.gid[1]) && has_netdev());
	CHECK(says(0, &own) && has_netdev() && has_netdev());
	for (again = 0; again < 2; again++) {
		CHECK(says(0, &own));
		unit_task = &tasks[1];
		CHECK(has_netdev());
		unit_task = &tasks[0];
		CHECK(!has_netdev() && has_netdev());
	}
	/* the next entry belongs to the net device, too, whether or not entry 0 was skipped */
	CHECK(says(0, &own) && says(1, &dev.gids.gid[1]) && has_netdev());
	/* on an older kernel the RDMA core replaces entry 0 */
	fill_table(false, &own);
	CHECK(says(0, &own) && has_netdev() && says(0, &own) && has_netdev());
	unit_cm_by_netdev = true;
	tap_end();
}

void test_gid(void)
{
	test_changes();
	test_dead();
	test_refresh();
	test_visits();
	test_query();
	test_refill();
}
