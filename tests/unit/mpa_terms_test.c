// SPDX-License-Identifier: GPL-2.0
/* Checks the terms that both ends negotiate in the startup (RFC 5044 7.1.1, RFC 6581 9, 10). */
#include "mpa.h"
#include "unit.h"

static const u16 depths[] = { 0, 1, 4, 16, 16382, 16383, 65535 };

struct pair {
	struct iwt_mpa_wish ini, rsp;
	struct iwt_mpa_frame req, rep;
	struct iwt_mpa_terms a, b;	/* a: terms of the initiator; b: of the responder */
};

/* Runs a whole startup. Return: false if the responder does not know the Request's revision */
static bool startup(struct pair *p)
{
	struct iwt_mpa_frame req;
	u8 buf[IWT_MPA_MAX_FRAME];
	u32 len;

	iwt_mpa_request(&p->ini, &req);
	CHECK_EQ(req.pd_off, req.enhanced ? 24 : 20);
	len = iwt_mpa_build(&req, NULL, buf);
	if (iwt_mpa_parse(buf, len, false, p->rsp.max_rev, &p->req) !=
	    IWT_MPA_OK)
		return false;
	iwt_mpa_answer(&p->rsp, &p->req, &p->rep, &p->b);
	CHECK_EQ(p->rep.pd_off, p->rep.enhanced ? 24 : 20);
	len = iwt_mpa_build(&p->rep, NULL, buf);
	CHECK_EQ(iwt_mpa_parse(buf, len, true, req.rev, &p->rep), IWT_MPA_OK);
	iwt_mpa_conclude(&p->ini, &req, &p->rep, &p->a);
	return true;
}

static void check_pair(struct pair *p)
{
	bool spoken = startup(p);

	CHECK_EQ(spoken, p->ini.max_rev <= p->rsp.max_rev);
	if (!spoken)
		return;
	CHECK_EQ(p->a.crc, p->ini.crc || p->rsp.crc);
	CHECK_EQ(p->b.crc, p->a.crc);
	CHECK_EQ(p->a.rx_markers, p->ini.markers);
	CHECK_EQ(p->b.tx_markers, p->ini.markers);
	CHECK_EQ(p->b.rx_markers, p->rsp.markers);
	CHECK_EQ(p->a.tx_markers, p->rsp.markers);
	CHECK_EQ(p->req.large, p->ini.large);
	CHECK_EQ(p->rep.large, p->ini.large && p->rsp.large);
	CHECK_EQ(p->a.tx_large, p->rep.large && !p->rsp.markers);
	CHECK_EQ(p->b.tx_large, p->rep.large && !p->ini.markers);
	CHECK_EQ(p->rep.rev, p->req.rev);
	CHECK_EQ(p->rep.enhanced, p->req.enhanced);
	CHECK_EQ(p->a.enhanced, p->ini.max_rev == 2);
	CHECK_EQ(p->b.enhanced, p->a.enhanced);
	CHECK_EQ(p->a.err, IWT_OK);
	CHECK_EQ(p->b.err, IWT_OK);
	CHECK_EQ(p->a.rtr, p->a.enhanced && p->ini.p2p ? IWT_RTR_WRITE :
		 IWT_RTR_NONE);
	CHECK_EQ(p->b.rtr, p->a.rtr);
	CHECK(!p->rep.rtr_send);
	CHECK_EQ(p->rep.rtr_read, p->rep.rtr_write);
	CHECK(!p->a.rdmac && !p->b.rdmac);
	CHECK(p->a.ord < 0x3fff && p->a.ird < 0x3fff);
	CHECK(p->b.ord < 0x3fff && p->b.ird < 0x3fff);
	CHECK(p->a.ord <= p->ini.ord && p->b.ord <= p->rsp.ord);
	CHECK(p->a.ird <= p->ini.ird);
	CHECK(p->b.ird <= p->rsp.ird || (p->b.ird == 1 && p->rep.rtr_read));
	if (!p->a.enhanced)
		return;
	/* RFC 6581 9.1: the ORD of an end does not exceed the IRD of the other end. */
	CHECK(p->a.ord <= p->b.ird);
	CHECK(p->b.ord <= p->a.ird);
	/* The ORD and the IRD are not lower than the wishes of both ends allow. */
	CHECK(p->a.ord == p->ini.ord || p->a.ord == p->b.ird);
	CHECK(p->b.ird >= p->ini.ord || p->b.ird >= p->rsp.ird ||
	      p->b.ird == 0x3ffe);
	CHECK(p->b.ord == p->rsp.ord || p->b.ord == p->ini.ird ||
	      p->b.ord == 0x3ffe);
}

static void test_matrix(void)
{
	struct pair p;
	u32 bits, i, r;

	tap_begin("mpa: terms for every pair of settings of the two ends");
	for (bits = 0; bits < 256; bits++) {
		for (i = 0; i < 49; i++) {
			for (r = 0; r < 49; r++) {
				p.ini = (struct iwt_mpa_wish){
					bits & 1, bits & 2, bits & 4,
					bits & 8 ? 2 : 1, depths[i % 7],
					depths[i / 7] };
				p.rsp = (struct iwt_mpa_wish){
					bits & 16, bits & 32, bits & 64,
					bits & 128 ? 2 : 1, depths[r % 7],
					depths[r / 7] };
				tap_about("bits %x i %u r %u", bits, i, r);
				check_pair(&p);
			}
		}
	}
	tap_end();
}

static const struct iwt_mpa_wish own = {
	.crc = true, .p2p = true, .max_rev = 2, .ird = 16, .ord = 8,
	.ird_max = 32, .pd_max = 255,
};

/* Long FPDUs, for all combinations of the wishes of both ends, of markers and of revisions. */
static void test_large(void)
{
	struct iwt_mpa_frame req, rep = { .reply = true, .rev = 1 };
	struct iwt_mpa_wish w = own;
	struct iwt_mpa_terms t;
	struct pair p;
	u32 bits;

	tap_begin("mpa: FPDUs longer than a TCP segment");
	for (bits = 0; bits < 64; bits++) {
		tap_about("bits %x", bits);
		p.ini = own;
		p.rsp = own;
		p.ini.large = bits & 1;
		p.rsp.large = bits & 2;
		p.ini.markers = bits & 4;
		p.rsp.markers = bits & 8;
		p.ini.max_rev = bits & 16 ? 2 : 1;
		p.rsp.max_rev = bits & 32 ? 2 : 1;
		check_pair(&p);
	}
	/* a Reply that rejects has the bit, too, if both ends offer long FPDUs */
	req = (struct iwt_mpa_frame){ .rev = 1, .large = true };
	for (bits = 0; bits < 2; bits++) {
		w.large = bits;
		iwt_mpa_refuse(&w, &req, &rep);
		CHECK_EQ(rep.large, bits);
	}
	/* a Reply with the bit: FPDUs may be long only if the Request had the bit, too */
	rep = (struct iwt_mpa_frame){ .reply = true, .rev = 1, .large = true };
	for (bits = 0; bits < 2; bits++) {
		w.large = bits;
		iwt_mpa_request(&w, &req);
		CHECK_EQ(req.large, bits);
		iwt_mpa_conclude(&w, &req, &rep, &t);
		CHECK_EQ(t.tx_large, bits);
	}
	tap_end();
}

/* Answers a Request of RFC 6581 with the given values. */
static struct iwt_mpa_terms answer(u16 ird, u16 ord, bool send, bool write,
				   bool read, struct iwt_mpa_frame *rep)
{
	struct iwt_mpa_frame req = {
		.rev = 2, .enhanced = true, .p2p = true, .ird = ird, .ord = ord,
		.rtr_send = send, .rtr_write = write, .rtr_read = read,
	};
	struct iwt_mpa_terms t;

	memset(rep, 0xa5, sizeof(*rep));
	memset(&t, 0xa5, sizeof(t));
	iwt_mpa_answer(&own, &req, rep, &t);
	CHECK_EQ(t.err, IWT_OK);
	CHECK(rep->enhanced && rep->reply && rep->p2p && !rep->reject);
	CHECK_EQ(rep->pd_len, 0);
	CHECK(rep->rtr_send || rep->rtr_write || rep->rtr_read);
	CHECK(t.ird || !rep->rtr_read);
	return t;
}

static void test_answer(void)
{
	struct iwt_mpa_frame rep;
	struct iwt_mpa_terms t;

	tap_begin("mpa: the responder's answer");
	t = answer(4, 200, false, true, true, &rep);
	CHECK_EQ(rep.ird, 16);
	CHECK_EQ(t.ird, 16);
	CHECK_EQ(rep.ord, 4);
	CHECK_EQ(t.ord, 4);
	CHECK(t.crc && rep.crc);
	t = answer(100, 3, false, true, true, &rep);
	CHECK_EQ(t.ird, 3);
	CHECK_EQ(t.ord, 8);
	/*
	 * The value 0x3fff declines to negotiate a depth. The Reply then has 0x3fff in the
	 * opposite field.
	 */
	t = answer(0x3fff, 3, false, true, true, &rep);
	CHECK_EQ(rep.ord, 0x3fff);
	CHECK_EQ(t.ord, 8);
	CHECK_EQ(rep.ird, 3);
	t = answer(3, 0x3fff, false, true, true, &rep);
	CHECK_EQ(rep.ird, 0x3fff);
	CHECK_EQ(t.ird, 16);
	CHECK_EQ(rep.ord, 3);
	tap_end();
}

static void test_answer_rtr(void)
{
	struct iwt_mpa_frame rep, req = { .rev = 2, .enhanced = true };
	struct iwt_mpa_terms t;
	u32 bits;

	tap_begin("mpa: the responder's choice of ready-to-receive");
	for (bits = 0; bits < 8; bits++) {
		tap_about("B C D %u", bits);
		t = answer(4, 4, bits & 4, bits & 2, bits & 1, &rep);
		CHECK_EQ(t.rtr, bits & 2 ? IWT_RTR_WRITE : bits & 1 ?
			 IWT_RTR_READ : bits & 4 ? IWT_RTR_SEND :
			 IWT_RTR_WRITE);
		/*
		 * The Reply has the kinds of the Request, but a Send only if the Request has no
		 * other kind. If the Request has no kind, the Reply has a Write and a Read.
		 */
		CHECK_EQ(rep.rtr_write, bits & 2 || !bits);
		CHECK_EQ(rep.rtr_read, bits & 1 || !bits);
		CHECK_EQ(rep.rtr_send, bits == 4);
	}
	/* The RTR Read needs an IRD of 1 even if the ORD of the Request is 0. */
	t = answer(4, 0, false, false, true, &rep);
	CHECK_EQ(t.ird, 1);
	CHECK_EQ(rep.ird, 1);
	t = answer(4, 0, false, true, true, &rep);
	CHECK_EQ(t.ird, 1);
	CHECK_EQ(rep.ird, 1);
	t = answer(4, 0, true, true, false, &rep);
	CHECK_EQ(t.ird, 0);
	t = answer(4, 0, true, false, false, &rep);
	CHECK_EQ(t.ird, 0);
	/* client/server mode */
	req.ird = 4;
	iwt_mpa_answer(&own, &req, &rep, &t);
	CHECK(rep.enhanced && !rep.p2p && !rep.rtr_write && !rep.rtr_read);
	CHECK_EQ(t.rtr, IWT_RTR_NONE);
	/* Requests of both revisions that are not enhanced, to an end that supports RFC 6581 */
	for (req.rev = 1; req.rev <= 2; req.rev++) {
		req.enhanced = false;
		iwt_mpa_answer(&own, &req, &rep, &t);
		CHECK(!rep.enhanced && !t.enhanced);
		CHECK_EQ(rep.rev, req.rev);
		CHECK_EQ(rep.pd_off, 20);
		CHECK_EQ(t.ird, 16);
		CHECK_EQ(t.ord, 8);
	}
	tap_end();
}

static struct iwt_mpa_terms conclude(struct iwt_mpa_frame rep)
{
	struct iwt_mpa_frame req;
	struct iwt_mpa_terms t;

	rep.reply = true;
	memset(&t, 0xa5, sizeof(t));
	iwt_mpa_request(&own, &req);
	CHECK(req.p2p && req.rtr_write && req.rtr_read && req.rtr_send);
	iwt_mpa_conclude(&own, &req, &rep, &t);
	return t;
}

#define REPLY(...) \
	conclude((struct iwt_mpa_frame){ .rev = 2, .enhanced = true, \
					 .p2p = true, __VA_ARGS__ })

static void test_conclude_depths(void)
{
	struct iwt_mpa_terms t;

	tap_begin("mpa: the initiator accepts or rejects the responder's depths");
	t = REPLY(.rtr_write = true, .ird = 4, .ord = 16);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.ord, 4);
	CHECK_EQ(t.ird, 16);
	t = REPLY(.rtr_write = true, .ird = 100, .ord = 0);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.ord, 8);
	CHECK_EQ(t.ird, 16);
	/* the Reply's ORD exceeds the Request's IRD: IRD is raised, up to the device's limit */
	t = REPLY(.rtr_write = true, .ird = 4, .ord = 17);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.ird, 17);
	t = REPLY(.rtr_write = true, .ird = 4, .ord = 32);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.ird, 32);
	t = REPLY(.rtr_write = true, .ird = 4, .ord = 33);
	CHECK_EQ(t.err, IWT_ERR_MPA_IRD);
	t = REPLY(.rtr_write = true, .ird = 4, .ord = 16382);
	CHECK_EQ(t.err, IWT_ERR_MPA_IRD);
	/* not negotiated */
	t = REPLY(.rtr_write = true, .ird = 0x3fff, .ord = 0x3fff);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.ord, 8);
	CHECK_EQ(t.ird, 16);
	/* depths and RTR are both wrong: the error is about the depths */
	t = REPLY(.ird = 4, .ord = 33);
	CHECK_EQ(t.err, IWT_ERR_MPA_IRD);
	t = REPLY(.ird = 4, .ord = 17);
	CHECK_EQ(t.err, IWT_ERR_MPA_RTR);
	tap_end();
}

static void test_conclude_rtr(void)
{
	struct iwt_mpa_terms t;

	tap_begin("mpa: the initiator's choice of ready-to-receive");
	t = REPLY(.rtr_write = true, .rtr_read = true, .ird = 1);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.rtr, IWT_RTR_WRITE);
	t = REPLY(.rtr_send = true, .rtr_read = true, .ird = 1);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.rtr, IWT_RTR_READ);
	t = REPLY(.rtr_read = true, .ird = 0x3fff);
	CHECK_EQ(t.rtr, IWT_RTR_READ);
	CHECK_EQ(t.ord, 8);
	/* an RTR Read is impossible with an IRD of 0 */
	t = REPLY(.rtr_read = true, .ird = 0);
	CHECK_EQ(t.err, IWT_ERR_MPA_RTR);
	t = REPLY(.rtr_read = true, .rtr_send = true, .ird = 0);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.rtr, IWT_RTR_SEND);
	/* a Send is chosen only if it is the only common kind */
	t = REPLY(.rtr_send = true, .rtr_write = true, .ird = 1);
	CHECK_EQ(t.rtr, IWT_RTR_WRITE);
	t = REPLY(.rtr_send = true, .ird = 1);
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.rtr, IWT_RTR_SEND);
	t = REPLY(.ird = 1);
	CHECK_EQ(t.err, IWT_ERR_MPA_RTR);
	CHECK_EQ(t.rtr, IWT_RTR_NONE);
	/* The Reply declines peer-to-peer mode; or it is not enhanced. */
	t = conclude((struct iwt_mpa_frame){
		.rev = 2, .enhanced = true, .rtr_write = true, .ird = 1,
	});
	CHECK_EQ(t.err, IWT_OK);
	CHECK_EQ(t.rtr, IWT_RTR_NONE);
	t = conclude((struct iwt_mpa_frame){ .rev = 2, .ord = 99 });
	CHECK_EQ(t.err, IWT_OK);
	CHECK(!t.enhanced);
	CHECK_EQ(t.rtr, IWT_RTR_NONE);
	CHECK_EQ(t.ird, 16);
	CHECK_EQ(t.ord, 8);
	tap_end();
}

/* An initiator that requests no Reads must still be able to send the RTR Read. */
static void test_read_rtr(void)
{
	static const struct iwt_mpa_wish no_reads = {
		.p2p = true, .max_rev = 2, .ird = 4,
	};
	struct iwt_mpa_frame req, rep = {
		.rev = 2, .enhanced = true, .reply = true, .p2p = true,
		.rtr_read = true, .ird = 1,
	};
	struct iwt_mpa_terms t;

	tap_begin("mpa: the ready-to-receive Read of a program that wants no Reads");
	iwt_mpa_request(&no_reads, &req);
	CHECK_EQ(req.ord, 0);
	iwt_mpa_conclude(&no_reads, &req, &rep, &t);
	CHECK_EQ(t.rtr, IWT_RTR_READ);
	CHECK_EQ(t.ord, 1);
	rep.rtr_write = true;
	iwt_mpa_conclude(&no_reads, &req, &rep, &t);
	CHECK_EQ(t.rtr, IWT_RTR_WRITE);
	CHECK_EQ(t.ord, 0);
	tap_end();
}

/* The depths in a Reply that rejects (RFC 6581 9.1) */
static void test_refuse(void)
{
	struct iwt_mpa_frame rep, req = {
		.rev = 2, .enhanced = true, .p2p = true, .rtr_read = true,
		.ird = 4, .ord = 3,
	};

	tap_begin("mpa: a reject names the depths that are needed");
	iwt_mpa_refuse(&own, &req, &rep);
	CHECK(rep.reply && rep.reject && rep.enhanced && rep.p2p);
	CHECK_EQ(rep.ord, 8);
	CHECK_EQ(rep.ird, 3);
	CHECK_EQ(rep.rev, 2);
	req.ird = 0x3fff;
	iwt_mpa_refuse(&own, &req, &rep);
	CHECK_EQ(rep.ord, 0x3fff);
	req = (struct iwt_mpa_frame){ .rev = 1 };
	iwt_mpa_refuse(&own, &req, &rep);
	CHECK(rep.reject && !rep.enhanced && rep.crc && !rep.ord);
	CHECK_EQ(rep.rev, 1);
	tap_end();
}

static void test_admit(void)
{
	struct iwt_mpa_wish w = own;
	struct iwt_mpa_frame f = { 0 };
	u32 rev, bits, max;

	tap_begin("mpa: frames that are not admitted");
	for (rev = 0; rev < 256; rev++) {
		for (bits = 0; bits < 128; bits++) {
			tap_about("rev %u bits %x", rev, bits);
			f.rev = rev;
			f.crc = bits & 1;
			f.markers = bits & 2;
			f.reject = bits & 4;
			w.rdmac = bits & 8;
			w.crc_required = bits & 16;
			w.max_rev = bits & 32 ? 2 : 1;
			/* the revision of the Request may be lower than that of this end */
			max = bits & 64 ? 2 : 1;
			CHECK_EQ(iwt_mpa_admit(&w, max, &f),
				 rev > max ? IWT_MPA_BAD_REV :
				 !rev && !(w.rdmac && f.markers) ?
				 IWT_MPA_UNFIT :
				 w.crc_required && rev && !f.crc && !f.reject ?
				 IWT_MPA_UNFIT : IWT_MPA_OK);
		}
	}
	f = (struct iwt_mpa_frame){ .rev = 1 };
	for (f.pd_len = 0; f.pd_len <= 512; f.pd_len++) {
		tap_about("private data %u", f.pd_len);
		CHECK_EQ(iwt_mpa_admit(&own, own.max_rev, &f), f.pd_len <= 255 ?
			 IWT_MPA_OK : IWT_MPA_UNFIT);
	}
	f.pd_len = 512;
	f.reject = true;
	CHECK_EQ(iwt_mpa_admit(&own, own.max_rev, &f), IWT_MPA_OK);
	tap_end();
}

/* Markers, CRC and version in both directions (RFC 5044 C.2, C.3). */
static void check_rdmac(const struct iwt_mpa_terms *t, bool rdmac)
{
	CHECK_EQ(t->rdmac, rdmac);
	if (!rdmac)
		return;
	CHECK(t->crc && t->tx_markers && t->rx_markers);
	CHECK(!t->enhanced && !t->err);
	CHECK_EQ(t->rtr, IWT_RTR_NONE);
}

static void test_rdmac(void)
{
	struct iwt_mpa_wish w = own;
	struct iwt_mpa_frame req, rep, f;
	struct iwt_mpa_terms t;
	u8 buf[IWT_MPA_MAX_FRAME];
	u32 bits;

	tap_begin("mpa: RDMAC peers of a permissive and of another node");
	for (bits = 0; bits < 16; bits++) {
		tap_about("bits %x", bits);
		w.rdmac = bits & 1;
		w.markers = bits & 2;
		w.crc = bits & 4;
		w.max_rev = bits & 8 ? 2 : 1;
		/* the Request of an RDMAC peer */
		req = (struct iwt_mpa_frame){ .markers = true, .crc = true };
		iwt_mpa_answer(&w, &req, &rep, &t);
		check_rdmac(&t, w.rdmac);
		CHECK_EQ(rep.rev, !w.rdmac);
		CHECK(rep.crc && rep.markers == (w.rdmac || w.markers));
		iwt_mpa_refuse(&w, &req, &rep);
		CHECK_EQ(rep.rev, !w.rdmac);
		CHECK(rep.reject);
		/* the Reply of an RDMAC peer, to a Request that it can read */
		iwt_mpa_request(&w, &req);
		CHECK_EQ(req.enhanced, w.max_rev == 2 && !w.rdmac);
		CHECK_EQ(req.rev, req.enhanced ? 2 : 1);
		rep = (struct iwt_mpa_frame){
			.reply = true, .markers = true, .crc = true,
		};
		CHECK_EQ(iwt_mpa_parse(buf, iwt_mpa_build(&rep, NULL, buf),
				       true, req.rev, &f), IWT_MPA_BAD_REV);
		CHECK_EQ(iwt_mpa_admit(&w, req.rev, &f), w.rdmac ? IWT_MPA_OK :
			 IWT_MPA_UNFIT);
		iwt_mpa_conclude(&w, &req, &f, &t);
		check_rdmac(&t, w.rdmac);
		/* the setting for RDMAC peers makes no difference to an IETF peer */
		rep.rev = 1;
		rep.markers = false;
		iwt_mpa_conclude(&w, &req, &rep, &t);
		check_rdmac(&t, false);
		CHECK_EQ(t.rx_markers, w.markers);
		CHECK(!t.tx_markers);
	}
	tap_end();
}

void test_mpa_terms(void)
{
	test_refuse();
	test_admit();
	test_rdmac();
	test_matrix();
	test_large();
	test_answer();
	test_answer_rtr();
	test_conclude_depths();
	test_conclude_rtr();
	test_read_rtr();
}
