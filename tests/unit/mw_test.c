// SPDX-License-Identifier: GPL-2.0
/*
 * Checks memory windows (mw.c): which windows may be bound, how a window ends, and races with the
 * end of a stream. If two threads end the windows of a stream, each window ends only once. If
 * another stream has bound a window meanwhile, the window stays bound.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "mw/mr_priv.h"
#include "mw.h"
#include "unit.h"

#define ARENA	0x10000u	/* tagged offset of the region's first byte */
#define LEN	4096u
#define RW	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
#define KEY(stag, key)	(((stag) & ~0xffu) | (key))

static struct iwt_dev dev;
static struct ib_pd pd, other_pd;
static struct ib_uobject uobject;
static struct iwt_mr region;
static u8 octets[LEN];

/* The last stream has another protection domain than the other streams. */
static struct stream {
	struct iwt_party party;
	struct list_head windows;
} streams[3];

gfp_t iwt_mr_gfp(const struct ib_pd *of)
{
	return of == &pd;
}

void iwt_mr_init(struct iwt_mr *mr, struct ib_pd *of, enum iwt_mr_kind kind)
{
	mr->dev = &dev;
	mr->kind = kind;
	mr->region.owner = of;
}

int iwt_mr_publish(struct iwt_mr *mr)
{
	u32 i;

	for (i = 1; i < UNIT_STAGS; i++) {
		if (dev.mr[i])
			continue;
		dev.mr[i] = mr;
		mr->stag = i << 8;
		mr->ibmr.rkey = mr->stag;
		return 0;
	}
	return -ENOMEM;
}

void iwt_mr_retract(struct iwt_mr *mr)
{
	dev.mr[mr->ibmr.rkey >> 8] = NULL;
}

struct iwt_mr *iwt_mr_get(struct iwt_dev *d, u32 stag)
{
	struct iwt_mr *mr = d->mr[stag >> 8];

	if (!mr || mr->stag != stag || !mr->region.valid)
		return NULL;
	rcu_read_lock();
	spin_lock_bh(&mr->lock);
	return mr;
}

void iwt_mr_put(struct iwt_mr *mr)
{
	spin_unlock_bh(&mr->lock);
	rcu_read_unlock();
}

struct iwt_mr *iwt_mr_get_for_change(struct iwt_dev *d, u32 stag)
{
	struct iwt_mr *mr = d->mr[stag >> 8];

	if (!mr)
		return NULL;
	rcu_read_lock();
	spin_lock_bh(&mr->lock);
	return mr;
}

void iwt_mr_put_changed(struct iwt_mr *mr)
{
	iwt_mr_put(mr);
}

static void begin(void)
{
	u32 i;

	dev = (struct iwt_dev){};
	unit_get = ~0u;
	unit_between = NULL;
	region = (struct iwt_mr){
		.kind = IWT_MR_USER,
		.ibmr.uobject = &uobject,
		.map.octets = octets,
		.origin = ARENA,
		.region = { ARENA, LEN, IWT_LOCAL_WRITE | IWT_BIND_WINDOWS, true, &pd },
	};
	uobject.usecnt = 0;
	CHECK(!iwt_mr_publish(&region));
	for (i = 0; i < ARRAY_SIZE(streams); i++) {
		streams[i].party.pd = i < 2 ? &pd : &other_pd;
		INIT_LIST_HEAD(&streams[i].windows);
	}
}

static struct iwt_window *new_window(bool type2)
{
	struct iwt_window *win = iwt_mw_create(&pd, type2);

	CHECK((long)win > 0);
	return win;
}

static struct iwt_mr *mr_of(u32 stag)
{
	return dev.mr[stag >> 8];
}

static bool bind_part(u32 i, u32 stag, u64 at, u64 len, int access)
{
	struct iwt_mw_bind b = { stag, region.stag, ARENA + at, len, access };

	return iwt_mw_bind(&dev, &b, &streams[i].party, &streams[i].windows) == IWT_OK;
}

static bool bind(u32 i, u32 stag)
{
	return bind_part(i, stag, 0, LEN, RW);
}

/* May the peer of stream @i write with this STag? */
static bool usable(u32 i, u32 stag)
{
	struct iwt_mr *mr = mr_of(stag);

	return mr && mr->stag == stag && mr->map.octets == octets &&
	       iwt_access_check(&mr->region, &streams[i].party, mr->region.base, 1,
				IWT_REMOTE_WRITE) == IWT_ACCESS_OK;
}

static bool any_left(u32 i)
{
	return iwt_mw_any(&dev, &streams[i].windows);
}

static u32 invalidate(u32 i, u32 stag, bool remote)
{
	struct iwt_mr *mr = iwt_mr_get_for_change(&dev, stag);
	u32 err = iwt_mw_invalidate(mr, stag, &streams[i].party, remote);

	iwt_mr_put_changed(mr);
	return err;
}

static void end_stream(u32 i)
{
	iwt_mw_end(&dev, &streams[i].party, &streams[i].windows);
	CHECK(!any_left(i));
}

/* Destroys the last window, and checks that nothing is left. */
static void end(struct iwt_window *win)
{
	u32 i;

	iwt_mw_destroy(win);
	for (i = 0; i < UNIT_STAGS; i++)
		CHECK(!dev.mr[i] || dev.mr[i] == &region);
	CHECK_EQ(region.windows, 0);
	CHECK_EQ(unit_held, 0);
}

static void test_bind(void)
{
	struct iwt_window *win;
	u32 stag;

	tap_begin("window: type 2 belongs to one stream, and is bound once");
	begin();
	win = new_window(true);
	stag = iwt_mw_stag(win);
	CHECK(!bind(2, stag));
	CHECK(!bind_part(0, stag, 1, LEN, RW));
	CHECK(!bind_part(0, stag, 0, 0, RW));
	CHECK(!bind_part(0, stag, 0, LEN, 1 << 9));
	uobject.usecnt = -1;
	CHECK(!bind(0, stag));
	region.ibmr.uobject = NULL;
	CHECK(!bind(0, stag));
	region.ibmr.uobject = &uobject;
	uobject.usecnt = 0;
	region.region.rights = IWT_BIND_WINDOWS;
	CHECK(!bind(0, stag));
	region.region.rights |= IWT_LOCAL_WRITE;
	CHECK_EQ(region.windows, 0);
	CHECK(!any_left(0));
	CHECK(bind_part(0, KEY(stag, 7), 16, 64, RW | IB_ZERO_BASED));
	CHECK_EQ(mr_of(stag)->region.base, 0);
	CHECK_EQ(mr_of(stag)->region.len, 64);
	CHECK_EQ(mr_of(stag)->origin, (u64)-16);
	CHECK(usable(0, KEY(stag, 7)) && !usable(0, stag) && !usable(1, KEY(stag, 7)));
	CHECK(any_left(0));
	CHECK(!bind(0, stag));
	CHECK_EQ(region.windows, 1);
	CHECK_EQ(invalidate(1, KEY(stag, 7), false), IWT_ERR_LOCAL);
	CHECK_EQ(invalidate(1, KEY(stag, 7), true), IWT_ERR_PROT_INVAL);
	CHECK_EQ(invalidate(0, stag, true), IWT_ERR_OP_INVAL);
	CHECK_EQ(invalidate(0, stag, false), IWT_ERR_LOCAL);
	CHECK_EQ(invalidate(0, KEY(stag, 7), true), IWT_OK);
	CHECK(!usable(0, KEY(stag, 7)) && !any_left(0));
	CHECK_EQ(invalidate(0, KEY(stag, 7), true), IWT_ERR_OP_INVAL);
	CHECK_EQ(invalidate(0, KEY(stag, 9), false), IWT_OK);
	CHECK(bind_part(1, KEY(stag, 8), 16, 64, RW) && usable(1, KEY(stag, 8)));
	CHECK_EQ(mr_of(stag)->region.base, ARENA + 16);
	CHECK_EQ(mr_of(stag)->origin, ARENA);
	end(win);
	tap_end();
}

static void test_rebind(void)
{
	struct iwt_window *win;
	u32 stag;

	tap_begin("window: type 1 belongs to a domain, and can be bound again");
	begin();
	win = new_window(false);
	stag = iwt_mw_stag(win);
	CHECK(!bind_part(0, stag, 0, LEN, RW | IB_ZERO_BASED));
	CHECK(bind(0, KEY(stag, 1)));
	CHECK(usable(0, KEY(stag, 1)) && usable(1, KEY(stag, 1)) && !usable(2, KEY(stag, 1)));
	CHECK(!any_left(0));
	CHECK(bind_part(1, KEY(stag, 2), 8, 8, IB_ACCESS_REMOTE_READ));
	CHECK_EQ(region.windows, 1);
	CHECK(!usable(0, KEY(stag, 1)) && !usable(0, KEY(stag, 2)));
	CHECK_EQ(invalidate(0, KEY(stag, 2), false), IWT_ERR_LOCAL);
	CHECK_EQ(invalidate(0, KEY(stag, 2), true), IWT_ERR_OP_INVAL);
	/* a window of type 1 belongs to no stream, so it stays bound when a stream ends */
	end_stream(1);
	CHECK_EQ(region.windows, 1);
	CHECK(bind_part(0, stag, 0, 0, 0));
	CHECK_EQ(region.windows, 0);
	end(win);
	tap_end();
}

static void test_none(void)
{
	struct iwt_window *win[2];

	tap_begin("window: creation fails without memory, and without a free STag");
	begin();
	unit_get = 0;
	CHECK((long)iwt_mw_create(&pd, true) == -ENOMEM);
	unit_get = 3;
	win[0] = new_window(true);
	win[1] = new_window(true);
	CHECK((long)iwt_mw_create(&pd, true) == -ENOMEM);
	CHECK_EQ(unit_held, 2);
	CHECK(!bind(0, 0));
	CHECK(!bind(0, region.stag));
	iwt_mw_destroy(win[0]);
	end(win[1]);
	tap_end();
}

/*
 * The other thread of kernel.h. It acts once, while this thread ends the windows of streams[0].
 */
static struct {
	struct iwt_window *win[2];
	u32 stag[2];
	u32 wait;	/* number of opportunities (moment()) that the other thread skips first */
	bool acts;	/* the other thread has not acted yet */
} race;

/* The other thread ends both windows of streams[0], and then streams[1] binds both again. */
static void end_and_bind(void)
{
	u32 i;

	if (!race.acts || race.wait--)
		return;
	race.acts = false;
	end_stream(0);
	for (i = 0; i < 2; i++)
		CHECK(bind(1, KEY(race.stag[i], 2)));
}

/* The other thread destroys one of the windows. */
static void destroy_one(void)
{
	if (!race.acts || race.wait--)
		return;
	race.acts = false;
	iwt_mw_destroy(race.win[1]);
}

/*
 * Ends streams[0]. The other thread runs @between, but acts only after it has skipped @wait
 * opportunities. Return: true if the other thread has acted.
 */
static bool end_beside(void (*between)(void), u32 wait)
{
	u32 i;

	begin();
	for (i = 0; i < 2; i++) {
		race.win[i] = new_window(true);
		race.stag[i] = iwt_mw_stag(race.win[i]);
		CHECK(bind(0, KEY(race.stag[i], 1)));
	}
	race.wait = wait;
	race.acts = true;
	unit_between = between;
	end_stream(0);
	unit_between = NULL;
	return !race.acts;
}

static void test_end_twice(void)
{
	u32 i, wait;

	tap_begin("window: the end of a stream keeps windows that another stream has bound");
	for (wait = 0; end_beside(end_and_bind, wait); wait++) {
		tap_about("after %u moments", wait);
		for (i = 0; i < 2; i++)
			CHECK(usable(1, KEY(race.stag[i], 2)));
		CHECK_EQ(region.windows, 2);
		CHECK(any_left(1));
		end_stream(1);
		iwt_mw_destroy(race.win[0]);
		end(race.win[1]);
	}
	CHECK(wait > 4);
	iwt_mw_destroy(race.win[0]);
	end(race.win[1]);
	tap_end();
}

static void test_end_destroyed(void)
{
	u32 wait;

	tap_begin("window: a window is destroyed while its stream ends");
	for (wait = 0; end_beside(destroy_one, wait); wait++) {
		tap_about("after %u moments", wait);
		CHECK_EQ(unit_held, 1);
		CHECK_EQ(region.windows, 0);
		end(race.win[0]);
	}
	CHECK(wait > 4);
	iwt_mw_destroy(race.win[0]);
	end(race.win[1]);
	tap_end();
}

void test_mw(void)
{
	test_bind();
	test_rebind();
	test_none();
	test_end_twice();
	test_end_destroyed();
}
