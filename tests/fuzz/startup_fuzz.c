// SPDX-License-Identifier: GPL-2.0
/* Reads arbitrary octets as a startup frame, and negotiates the terms with the frame's sender. */
#include "fuzz.h"
#include "mpa.h"

static bool same(const struct iwt_mpa_frame *a, const struct iwt_mpa_frame *b)
{
	return a->reply == b->reply && a->markers == b->markers &&
	       a->crc == b->crc && a->reject == b->reject &&
	       a->large == b->large &&
	       a->enhanced == b->enhanced && a->p2p == b->p2p &&
	       a->rtr_send == b->rtr_send && a->rtr_write == b->rtr_write &&
	       a->rtr_read == b->rtr_read && a->rev == b->rev &&
	       a->ird == b->ird && a->ord == b->ord &&
	       a->pd_len == b->pd_len && a->pd_off == b->pd_off;
}

/* A frame that is read, written and read again must not change. */
static void check_again(const u8 *buf, const struct iwt_mpa_frame *f, u8 max)
{
	struct iwt_mpa_frame again;
	u8 out[IWT_MPA_MAX_FRAME];
	u32 len;

	len = iwt_mpa_build(f, buf + f->pd_off, out);
	SAME(len, f->pd_off + f->pd_len);
	SAME(iwt_mpa_parse(out, len, f->reply, max, &again), IWT_MPA_OK);
	MUST(same(f, &again));
	MUST(!memcmp(out + f->pd_off, buf + f->pd_off, f->pd_len));
	/* Only reserved bits, and bits without a meaning, may have been cleared. */
	MUST(!memcmp(out, buf, IWT_MPA_KEY_LEN));
	SAME(out[16], buf[16] & out[16]);
	MUST(!memcmp(out + 17, buf + 17, 3));
}

/* A shorter part of the frame is either a valid beginning or already invalid. */
static void check_shorter(const u8 *buf, u32 len, bool reply, u8 max, bool bad)
{
	struct iwt_mpa_frame f;
	bool was_bad = false;
	u8 *part;
	u32 n;

	for (n = 0; n < len; n++) {
		part = exact(buf, n);
		switch (iwt_mpa_parse(part, n, reply, max, &f)) {
		case IWT_MPA_MORE:
			MUST(!was_bad);
			MUST(iwt_mpa_need(part, n) > n);
			break;
		case IWT_MPA_BAD:
			MUST(bad);
			was_bad = true;
			break;
		default:
			abort();
		}
		free(part);
	}
}

static void check_answer(const struct iwt_mpa_wish *own,
			 const struct iwt_mpa_frame *req)
{
	struct iwt_mpa_frame rep, read;
	struct iwt_mpa_terms t;
	u8 out[IWT_MPA_MAX_FRAME];
	u32 len;

	iwt_mpa_answer(own, req, &rep, &t);
	len = iwt_mpa_build(&rep, NULL, out);
	SAME(iwt_mpa_parse(out, len, true, rep.rev, &read),
	     rep.rev ? IWT_MPA_OK : IWT_MPA_BAD_REV);
	MUST(same(&rep, &read));
	SAME(rep.rev, req->rev || t.rdmac ? req->rev : 1);
	SAME(rep.enhanced, req->enhanced);
	SAME(rep.p2p, req->p2p);
	SAME(t.enhanced, req->enhanced);
	SAME(t.err, IWT_OK);
	SAME(t.rdmac, own->rdmac && !req->rev && req->markers);
	SAME(t.crc, own->crc || req->crc || t.rdmac);
	SAME(rep.large, own->large && req->large);
	SAME(t.tx_large, rep.large && !t.tx_markers);
	MUST(!t.rdmac || (t.rx_markers && t.tx_markers && !t.enhanced));
	SAME(t.rtr != IWT_RTR_NONE, req->p2p);
	SAME(req->p2p, rep.rtr_send || rep.rtr_write || rep.rtr_read);
	MUST(!rep.rtr_read || t.ird);
	/* the reply accepts at least one kind of RTR that the Request offers */
	MUST(!req->p2p || !(req->rtr_send || req->rtr_write || req->rtr_read) ||
	     (req->rtr_send && rep.rtr_send) ||
	     (req->rtr_write && rep.rtr_write) ||
	     (req->rtr_read && rep.rtr_read));
	MUST(t.ird <= own->ird || (t.ird == 1 && rep.rtr_read));
	MUST(t.ord <= own->ord && t.ird < 0x3fff && t.ord < 0x3fff);
	if (!req->enhanced)
		return;
	MUST(t.ord <= req->ird || req->ird == 0x3fff);
	MUST(t.ird <= req->ord || req->ord == 0x3fff ||
	     (t.ird == 1 && rep.rtr_read));
	SAME(rep.ird, req->ord == 0x3fff ? 0x3fff : t.ird);
	SAME(rep.ord, req->ird == 0x3fff ? 0x3fff : t.ord);
	iwt_mpa_refuse(own, req, &rep);
	MUST(rep.reject && rep.enhanced);
	len = iwt_mpa_build(&rep, NULL, out);
	SAME(iwt_mpa_parse(out, len, true, req->rev, &read), IWT_MPA_OK);
	MUST(same(&rep, &read));
}

static void check_conclude(const struct iwt_mpa_wish *own,
			   const struct iwt_mpa_frame *rep)
{
	struct iwt_mpa_frame req;
	struct iwt_mpa_terms t;

	iwt_mpa_request(own, &req);
	iwt_mpa_conclude(own, &req, rep, &t);
	SAME(t.rdmac, own->rdmac && !rep->rev && rep->markers);
	SAME(t.crc, own->crc || rep->crc || t.rdmac);
	SAME(t.tx_markers, rep->markers);
	SAME(t.tx_large, own->large && rep->large && !t.tx_markers);
	SAME(t.rx_markers, own->markers || t.rdmac);
	MUST(t.ird <= own->ird || t.ird <= own->ird_max);
	MUST(t.ord <= own->ord || (t.ord == 1 && t.rtr == IWT_RTR_READ));
	MUST(t.ird < 0x3fff && t.ord < 0x3fff);
	MUST(t.enhanced || (!t.err && t.rtr == IWT_RTR_NONE));
	MUST(!t.err || t.err == IWT_ERR_MPA_IRD || t.err == IWT_ERR_MPA_RTR);
	if (!t.enhanced || t.err)
		return;
	MUST(rep->ird == 0x3fff || t.ord <= rep->ird);
	MUST(rep->ord == 0x3fff || rep->ord <= t.ird);
	SAME(t.rtr != IWT_RTR_NONE, own->p2p && rep->p2p);
	MUST(t.rtr != IWT_RTR_SEND ||
	     (rep->rtr_send && !rep->rtr_write &&
	      !(rep->rtr_read && rep->ird)));
	MUST(t.rtr != IWT_RTR_WRITE || rep->rtr_write);
	MUST(t.rtr != IWT_RTR_READ || (rep->rtr_read && rep->ird));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	/*
	 * The octets after the longest frame determine this end's wish (struct iwt_mpa_wish).
	 * Without such octets, the last octet determines a part of the wish.
	 */
	struct input in = { data + IWT_MPA_MAX_FRAME,
			    size > IWT_MPA_MAX_FRAME ?
			    size - IWT_MPA_MAX_FRAME : 0 };
	u32 bits = in.left ? take(&in, 1) : data && size ? data[size - 1] : 0;
	struct iwt_mpa_wish own = {
		bits & 1, bits & 2, bits & 4, bits & 8 ? 2 : 1,
		bits & 16 ? 16 : take(&in, 2), bits & 32 ? 8 : take(&in, 2),
		bits & 16 ? 128 : take(&in, 2), 255, bits & 64, bits & 128,
		take(&in, 1) & 1,
	};
	enum iwt_mpa_verdict v;
	struct iwt_mpa_frame f;
	u8 *buf = exact(data, size);
	u32 reply, need;

	need = iwt_mpa_need(buf, size);
	MUST(need >= IWT_MPA_HDR_LEN && need <= IWT_MPA_MAX_FRAME);
	for (reply = 0; reply < 2; reply++) {
		memset(&f, 0xa5, sizeof(f));
		v = iwt_mpa_parse(buf, size, reply, own.max_rev, &f);
		if (v == IWT_MPA_OK || v == IWT_MPA_BAD_REV) {
			SAME(f.pd_off + f.pd_len, need);
			MUST(need <= size);
			check_shorter(buf, need, reply, own.max_rev, false);
		} else {
			check_shorter(buf, size < 64 ? size : 64, reply,
				      own.max_rev, v == IWT_MPA_BAD);
		}
		if (v == IWT_MPA_OK)
			check_again(buf, &f, own.max_rev);
		if (v != IWT_MPA_OK && v != IWT_MPA_BAD_REV)
			continue;
		v = iwt_mpa_admit(&own, own.max_rev, &f);
		SAME(v == IWT_MPA_BAD_REV, f.rev > own.max_rev);
		MUST(v != IWT_MPA_OK || f.reject || f.pd_len <= own.pd_max);
		MUST(v != IWT_MPA_OK || f.rev || own.rdmac);
		if (v == IWT_MPA_BAD_REV)
			continue;
		if (reply)
			check_conclude(&own, &f);
		else
			check_answer(&own, &f);
	}
	free(buf);
	return 0;
}
