// SPDX-License-Identifier: GPL-2.0
/* Checks the results and the wire format of atomic operations (RFC 7306 5). */
#include "atomic.h"
#include "unit.h"

#define ALL	(~0ull)

static u64 add(u64 old, u64 data, u64 mask)
{
	struct iwt_atomic a = {
		.op = IWT_AOP_FETCH_ADD, .data = data, .data_mask = mask,
		/* a FetchAdd ignores these fields */
		.compare = any(), .compare_mask = any(),
	};

	return iwt_atomic_result(&a, old);
}

static u64 swap(u64 old, u64 cmp, u64 cmp_mask, u64 data, u64 mask)
{
	struct iwt_atomic a = {
		.op = IWT_AOP_CMP_SWAP, .data = data, .data_mask = mask,
		.compare = cmp, .compare_mask = cmp_mask,
	};

	return iwt_atomic_result(&a, old);
}

static u64 any64(void)
{
	return (u64)any() << 32 ^ any();
}

/* The addition with a mask, bit by bit as in the pseudocode of RFC 7306 5.1.1. */
static u64 slow_add(u64 old, u64 data, u64 mask)
{
	u64 sum, carry = 0, out = 0;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		sum = carry + (old >> bit & 1) + (data >> bit & 1);
		out |= (sum & 1) << bit;
		carry = mask >> bit & 1 ? 0 : sum >> 1;
	}
	return out;
}

static void test_add(void)
{
	u64 old, data, mask;
	u32 i;

	tap_begin("atomic: FetchAdd of the whole value and of fields");
	CHECK_EQ(add(5, 1, 0), 6);
	CHECK_EQ(add(ALL, 1, 0), 0);
	CHECK_EQ(add(0, ALL, 0), ALL);
	CHECK_EQ(add(0xffffffff, 1, 0), 0x100000000);
	CHECK_EQ(add(0xffffffff, 1, 1u << 31), 0);
	CHECK_EQ(add(0x7f7f7f7f7f7f7f7f, 0x0101010101010101,
		     0x8080808080808080), 0x8080808080808080);
	CHECK_EQ(add(ALL, 0x0101010101010101, 0x8080808080808080), 0);
	CHECK_EQ(add(ALL, 1, ALL), ALL - 1);
	CHECK_EQ(add(0x1234, 0, 0xff), 0x1234);
	for (i = 0; i < 100000; i++) {
		old = any64();
		data = any64();
		mask = i % 3 ? any64() & any64() : any64();
		tap_about("%lx + %lx, fields %lx", old, data, mask);
		CHECK_EQ(add(old, data, mask), slow_add(old, data, mask));
	}
	tap_end();
}

static void test_swap(void)
{
	u64 old, cmp, cm, data, dm, want;
	u32 i;

	tap_begin("atomic: CmpSwap of the whole value and under masks");
	CHECK_EQ(swap(5, 5, ALL, 1, ALL), 1);
	CHECK_EQ(swap(5, 6, ALL, 1, ALL), 5);
	CHECK_EQ(swap(0x1122334455667788, 0x55667788, 0xffffffff,
		      0xaabbccdd00000000, 0xffffffff00000000),
		 0xaabbccdd55667788);
	CHECK_EQ(swap(0x1122334455667788, 0x55667789, 0xffffffff,
		      0xaabbccdd00000000, 0xffffffff00000000),
		 0x1122334455667788);
	CHECK_EQ(swap(77, 1, 0, 2, ALL), 2);
	CHECK_EQ(swap(77, 77, ALL, 2, 0), 77);
	for (i = 0; i < 100000; i++) {
		old = any64();
		cm = any64();
		cmp = i % 2 ? any64() : (old & cm) | (any64() & ~cm);
		data = any64();
		dm = any64();
		want = (cmp & cm) == (old & cm) ? (old & ~dm) + (data & dm) : old;
		CHECK_EQ(swap(old, cmp, cm, data, dm), want);
	}
	tap_end();
}

static void test_request(void)
{
	static const struct iwt_atomic a = {
		.op = IWT_AOP_CMP_SWAP, .id = 0x01020304, .stag = 0x05060708,
		.to = 0x1112131415161718, .data = 0x2122232425262728,
		.data_mask = 0x3132333435363738, .compare = 0x4142434445464748,
		.compare_mask = 0x5152535455565758,
	};
	struct iwt_atomic back;
	u8 hdr[52], octets[52];
	u32 op;

	tap_begin("atomic: request header");
	CHECK_EQ(unhex("00000002010203040506070811121314151617182122232425262728"
		       "313233343536373841424344454647485152535455565758",
		       octets), 52);
	iwt_atomic_build(&a, hdr);
	CHECK(!memcmp(hdr, octets, 52));
	memset(&back, 0xa5, sizeof(back));
	iwt_atomic_parse(octets, &back);
	CHECK_EQ(back.op, a.op);
	CHECK_EQ(back.id, a.id);
	CHECK_EQ(back.stag, a.stag);
	CHECK_EQ(back.to, a.to);
	CHECK_EQ(back.data, a.data);
	CHECK_EQ(back.data_mask, a.data_mask);
	CHECK_EQ(back.compare, a.compare);
	CHECK_EQ(back.compare_mask, a.compare_mask);
	/* the upper 28 bits of the first word are reserved, so a reader ignores them */
	for (op = 0; op < 16; op++) {
		octets[0] = 0xff;
		octets[1] = 0x5a;
		octets[2] = 0xff;
		octets[3] = 0xf0 | op;
		iwt_atomic_parse(octets, &back);
		CHECK_EQ(back.op, op);
		CHECK_EQ(iwt_atomic_check(&back),
			 op == 0 || op == 2 ? IWT_OK : IWT_ERR_OP_OPCODE);
	}
	tap_end();
}

static void test_response(void)
{
	u8 hdr[12], octets[12];
	u64 value;
	u32 id;

	tap_begin("atomic: response header");
	CHECK_EQ(unhex("010203041112131415161718", octets), 12);
	iwt_atomic_build_resp(0x01020304, 0x1112131415161718, hdr);
	CHECK(!memcmp(hdr, octets, 12));
	iwt_atomic_parse_resp(octets, &id, &value);
	CHECK_EQ(id, 0x01020304);
	CHECK_EQ(value, 0x1112131415161718);
	tap_end();
}

void test_atomic(void)
{
	test_add();
	test_swap();
	test_request();
	test_response();
}
