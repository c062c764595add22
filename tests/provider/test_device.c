// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <string.h>
#include <time.h>

#include <iw_tcp_has.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

static void test_registration(void)
{
	const struct verbs_device_ops *driver = fake.driver;

	ok(driver && !strcmp(driver->name, "iw_tcp"), "device: the provider is registered");
	is(driver->match_table[0].kind, VERBS_MATCH_DRIVER_ID,
	   "device: the provider matches a device by its driver id");
	is(driver->match_table[0].u.driver_id, RDMA_DRIVER_IW_TCP,
	   "device: the driver id is that of iw_tcp");
	is(driver->match_table[1].kind, VERBS_MATCH_SENTINEL,
	   "device: there is no other match");
	ok(driver->match_min_abi_version <= IWT_ABI_VERSION &&
	   driver->match_max_abi_version >= IWT_ABI_VERSION,
	   "device: the range of ABI versions includes that of the header");
}

static uint64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);

	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Queries the clock that gives completions their times. */
static void test_clock(struct ibv_context *context)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 4 };
	uint64_t before = raw_ns(), is_now;

	is(fake.ops.query_rt_values(context, &values), 0, "clock: the query succeeds");
	is(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK,
	   "clock: only the known value is returned");
	is_now = values.raw_clock.tv_sec * 1000000000ull + values.raw_clock.tv_nsec;
	ok(is_now >= before && is_now <= raw_ns(), "clock: the time is right");
	values = (struct ibv_values_ex) {};
	ok(!fake.ops.query_rt_values(context, &values) &&
	   !values.comp_mask && !values.raw_clock.tv_nsec,
	   "clock: no time is returned without a request");
}

/* Queries the speed of the port, if this version of libibverbs has the operation. */
static void test_speed(struct ibv_context *context)
{
#ifdef IWT_HAS_PORT_SPEED
	uint64_t speed = 0;

	is(fake.ops.query_port_speed(context, 1, &speed), 0, "context: speed of the port");
	is(speed, 250, "context: the speed is the kernel's");
	is(fake.ops.query_port_speed(context, 2, &speed), EINVAL,
	   "context: speed of a port that is not there");
#endif
}

static void test_context(void)
{
	struct ibv_query_device_ex_input unknown = { .comp_mask = 1 };
	struct ibv_context *context = fake_open();
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;

	ok(context, "context: the context is opened");
	is(fake.features_asked, IWT_FEATURE_RFC7306 | IWT_FEATURE_DEFERRED |
	   IWT_FEATURE_WINDOWS | IWT_FEATURE_SRQ_DOORBELL,
	   "context: the provider requests all features that it knows");
	is(fake.ops.query_device_ex(context, NULL, &attr, sizeof(attr)), 0,
	   "context: the query of the device succeeds");
	ok(!strcmp(attr.orig_attr.fw_ver, "6.12.107"),
	   "context: the version of the module is right");
	is(fake.ops.query_device_ex(context, &unknown, &attr, sizeof(attr)), EINVAL,
	   "context: the refusal of a query of the device is returned");
	is(fake.ops.query_port(context, 1, &port), 0, "context: the query of the port succeeds");
	is(fake.ops.query_port(context, 2, &port), EINVAL,
	   "context: the refusal of a query of a port is returned");
	ok(!fake.ops.create_srq_ex && !fake.ops.get_srq_num && !fake.ops.create_ah,
	   "context: operations that iw_tcp lacks are left to libibverbs");
	test_clock(context);
	test_speed(context);
	fake_close(context);
	is(fake.contexts, 0, "context: the kernel's context is closed");
}

/* Tests with a kernel that refuses to create a context. */
static void test_refused(void)
{
	fake_begin(0);
	fake.no_answer = true;
	errno = 0;
	ok(!fake_context() && errno == EUSERS, "context: the kernel's error is returned");
	is(fake.contexts, 0, "context: after the error no context is left");
	fake_close(NULL);
}

static void test_regions(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_pd *pd = fake.ops.alloc_pd(context);
	struct ibv_mr *mr;
	char data[16];

	mr = fake.ops.reg_mr(pd, data, sizeof(data), (uintptr_t)data, 0);
	ok(mr && mr->lkey == 0x11223344, "regions: memory can be registered");
	is(fake.ops.rereg_mr(verbs_get_mr(mr), IBV_REREG_MR_CHANGE_TRANSLATION,
			     pd, data + 1, sizeof(data) - 1, 0), 0,
	   "regions: a region can be changed");
	is(mr->rkey, 0x55667788, "regions: after the change it has the new key");
	is(fake.ops.dereg_mr(verbs_get_mr(mr)), 0, "regions: it can be deregistered");
	errno = 0;
	ok(!fake.ops.reg_mr(pd, data, 0, 0, 0) && errno == EINVAL,
	   "regions: the kernel's refusal is returned");
	is(fake.ops.advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
			      (struct ibv_sge[]){ {}, { .lkey = 0x11223344 } }, 2), 0,
	   "regions: advice for two elements is passed on");
	is(fake.ops.advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
			      (struct ibv_sge[]){ {} }, 1), EFAULT,
	   "regions: the kernel's refusal of advice is returned");
	mr = fake.ops.reg_dmabuf_mr(pd, 0x12, 100, 0x34, 5, 0);
	ok(mr && mr->lkey == 0x1234, "regions: a dma-buf can be registered");
	is(fake.ops.dereg_mr(verbs_get_mr(mr)), 0,
	   "regions: the region of a dma-buf can be deregistered");
	errno = 0;
	ok(!fake.ops.reg_dmabuf_mr(pd, 0, 100, 0, -1, 0) && errno == EBADF,
	   "regions: the kernel's refusal of a dma-buf is returned");
	fake.ops.dealloc_pd(pd);
	ok(!fake.pds && !fake.mrs, "regions: no object is left in the kernel");
	fake_close(context);
}

void test_device(void)
{
	test_registration();
	test_context();
	test_refused();
	test_regions();
}
