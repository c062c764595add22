// SPDX-License-Identifier: GPL-2.0
/* Checks which messages the RDMAP layer accepts, by opcode, queue and length. */
#include "rdmap.h"
#include "unit.h"

#define ANY	0xffff	/* the ULPDU has no upper bound */

/* RFC 5040 Figure 4 and RFC 7306 Figure 1, as a table. least, most: lengths of the ULPDU */
static const struct {
	bool spoken, tagged, solicited, invalidates, exact;
	u32 qn, least, most;
} messages[16] = {
	[0x0] = { 1, 1, 0, 0, 0, 0, 14, ANY },
	[0x1] = { 1, 0, 0, 0, 0, 1, 46, 46 },
	[0x2] = { 1, 1, 0, 0, 0, 0, 14, ANY },
	[0x3] = { 1, 0, 0, 0, 0, 0, 18, ANY },
	[0x4] = { 1, 0, 0, 1, 0, 0, 18, ANY },
	[0x5] = { 1, 0, 1, 0, 0, 0, 18, ANY },
	[0x6] = { 1, 0, 1, 1, 0, 0, 18, ANY },
	[0x7] = { 1, 0, 0, 0, 0, 2, 22, 70 },
	[0x8] = { 1, 0, 0, 0, 1, 0, 26, 26 },
	[0x9] = { 1, 0, 1, 0, 1, 0, 26, 26 },
	[0xa] = { 1, 0, 0, 0, 1, 1, 70, 70 },
	[0xb] = { 1, 0, 0, 0, 1, 3, 30, 30 },
};

static u32 want(const struct iwt_ddp *d, u32 len)
{
	u32 least = d->tagged ? 14 : 18;

	if (d->rv != d->dv)
		return IWT_ERR_OP_VERSION;
	if (!messages[d->opcode].spoken ||
	    (messages[d->opcode].exact && !d->rv) ||
	    messages[d->opcode].tagged != d->tagged ||
	    (!d->tagged && messages[d->opcode].qn != d->qn))
		return IWT_ERR_OP_OPCODE;
	if (len < least)
		return IWT_ERR_DDP_LOCAL;
	if (len > messages[d->opcode].most)
		return messages[d->opcode].exact ? IWT_ERR_OP_UNSPEC :
						   IWT_ERR_UNT_LONG;
	if (len < messages[d->opcode].least)
		return IWT_ERR_OP_UNSPEC;
	if (messages[d->opcode].most != ANY && (!d->last || d->mo))
		return IWT_ERR_OP_UNSPEC;
	return IWT_OK;
}

static void test_check(void)
{
	static const u32 lens[] = {
		0, 13, 14, 17, 18, 21, 22, 25, 26, 27, 29, 30, 31, 34, 45, 46,
		47, 69, 70, 71, 1442, 64768, 65535,
	};
	struct iwt_ddp d = { 0 };
	u32 op, bits, len;

	tap_begin("rdmap: every opcode, T, L, RV, QN, MO and length");
	for (op = 0; op < 16; op++) {
		for (bits = 0; bits < 256; bits++) {
			d.opcode = op;
			d.tagged = bits & 1;
			d.last = bits & 2;
			d.rv = bits >> 2 & 3;
			d.qn = d.tagged ? 0 : bits >> 4 & 7;
			d.mo = d.tagged ? 0 : bits >> 7 << 8;
			for (len = 0; len < ARRAY_SIZE(lens); len++) {
				tap_about("op %x bits %x len %u", op, bits,
					  lens[len]);
				d.dv = 1;
				CHECK_EQ(iwt_rdmap_check(&d, lens[len]),
					 want(&d, lens[len]));
				/* the same message of an RDMAC peer, whose RV equals DV */
				d.dv = 0;
				d.rv ^= 1;
				CHECK_EQ(iwt_rdmap_check(&d, lens[len]),
					 want(&d, lens[len]));
				d.rv ^= 1;
			}
		}
	}
	tap_end();
}

static void test_rules(void)
{
	const struct iwt_rdmap_rule *r;
	u32 op, hdr;

	tap_begin("rdmap: the table of messages");
	for (op = 0; op < 16; op++) {
		tap_about("op %x", op);
		r = iwt_rdmap_rule(op);
		CHECK_EQ(r->known, op < 0xc);
		CHECK_EQ(r->tagged, messages[op].tagged);
		CHECK_EQ(r->solicited, messages[op].solicited);
		CHECK_EQ(r->invalidates, messages[op].invalidates);
		CHECK_EQ(r->qn, messages[op].qn);
		if (!r->known)
			continue;
		hdr = messages[op].tagged ? 14 : 18;
		CHECK_EQ(r->hdr_len, messages[op].least - hdr);
		CHECK_EQ(r->payload, messages[op].most == ANY);
		CHECK_EQ(r->exact, messages[op].exact);
	}
	CHECK_EQ(iwt_rdmap_rule(0xff)->known, false);
	tap_end();
}

static u32 room(u8 opcode, u32 qn)
{
	struct iwt_ddp d = { .opcode = opcode, .qn = qn };

	return iwt_rdmap_room(&d, 100);
}

static void test_room(void)
{
	u32 op;

	tap_begin("rdmap: the opcodes whose payload DDP may place");
	for (op = 0; op < 16; op++) {
		tap_about("op %x", op);
		CHECK_EQ(room(op, 0), op == 8 || op == 9 ? ~0u : 100);
		CHECK_EQ(room(op, 1), op == 0xa ? ~0u : 28);
		CHECK_EQ(room(op, 2), 52);
		CHECK_EQ(room(op, 3), op == 0xb ? ~0u : 52);
	}
	tap_end();
}

static void test_read(void)
{
	static const struct iwt_rdmap_read r = {
		.sink_stag = 0xaabbccdd, .sink_to = 0x0102030405060708,
		.size = 0xfffefdfc, .src_stag = 0x55667788,
		.src_to = 0xf1f2f3f4f5f6f7f8,
	};
	struct iwt_rdmap_read back;
	u8 hdr[28], octets[28];

	tap_begin("rdmap: Read Request header");
	CHECK_EQ(unhex("aabbccdd0102030405060708fffefdfc55667788"
		       "f1f2f3f4f5f6f7f8", octets), 28);
	iwt_rdmap_build_read(&r, hdr);
	CHECK(!memcmp(hdr, octets, 28));
	iwt_rdmap_parse_read(octets, &back);
	CHECK_EQ(back.sink_stag, r.sink_stag);
	CHECK_EQ(back.sink_to, r.sink_to);
	CHECK_EQ(back.size, r.size);
	CHECK_EQ(back.src_stag, r.src_stag);
	CHECK_EQ(back.src_to, r.src_to);
	tap_end();
}

void test_rdmap(void)
{
	test_check();
	test_rules();
	test_room();
	test_read();
}
