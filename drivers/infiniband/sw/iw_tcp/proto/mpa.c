// SPDX-License-Identifier: GPL-2.0
/* MPA startup frames and their negotiation (RFC 5044 7.1, RFC 6581). */
#include "mpa.h"

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/byteorder.h>

#define IWT_MPA_PD_LEN_OFF	(IWT_MPA_HDR_LEN - 2)	/* of PD_Length */

/**
 * iwt_mpa_need() - how long is the startup frame?
 * @buf: its octets so far
 * @len: how many
 *
 * Return: octets of the frame as far as known: those of the fixed part until that is there,
 * then all of them; never more than IWT_MPA_MAX_FRAME.
 */
u32 iwt_mpa_need(const u8 *buf, u32 len)
{
	u32 pd;

	if (len < IWT_MPA_HDR_LEN)
		return IWT_MPA_HDR_LEN;
	pd = get_unaligned_be16(buf + IWT_MPA_PD_LEN_OFF);
	return pd > IWT_MPA_MAX_PD ? IWT_MPA_HDR_LEN : IWT_MPA_HDR_LEN + pd;
}

/* RFC 6581 6. Without A the other flags mean nothing. */
static void mpa_parse_enh(const u8 *word, struct iwt_mpa_frame *f)
{
	const struct iwt_mpa_enh *w = (const void *)word;
	u16 first = be16_to_cpu(w->ird);
	u16 second = be16_to_cpu(w->ord);

	f->ird = first & IWT_MPA_ENH_DEPTH;
	f->ord = second & IWT_MPA_ENH_DEPTH;
	f->p2p = first & IWT_MPA_ENH_P2P;
	f->rtr_send = f->p2p && first & IWT_MPA_ENH_RTR_SEND;
	f->rtr_write = f->p2p && second & IWT_MPA_ENH_RTR_WRITE;
	f->rtr_read = f->p2p && second & IWT_MPA_ENH_RTR_READ;
}

/**
 * iwt_mpa_parse() - read a startup frame (RFC 5044 7.1.1, RFC 6581 6)
 * @buf: octets received so far, a private copy
 * @len: how many; more than iwt_mpa_need() is the caller's to judge
 * @reply: a Reply is expected, else a Request
 * @max_rev: highest revision spoken; for a Reply that of the own Request
 * @f: set on IWT_MPA_OK and IWT_MPA_BAD_REV, else zeroed
 *
 * A wrong octet of the key is an error at once, so that nobody waits for a peer that does not
 * speak MPA. S has a meaning in revision 2 only. A Request's R and the reserved bits are
 * ignored, but for IWT_MPA_F_LARGE, which counts if both ends are set to use it.
 *
 * Return: see enum iwt_mpa_verdict.
 */
enum iwt_mpa_verdict iwt_mpa_parse(const u8 *buf, u32 len, bool reply,
				   u8 max_rev, struct iwt_mpa_frame *f)
{
	const char *key = reply ? IWT_MPA_KEY_REP : IWT_MPA_KEY_REQ;
	const struct iwt_mpa_hdr *h = (const void *)buf;
	bool spoken, enhanced;
	u32 pd;

	memset(f, 0, sizeof(*f));
	if (memcmp(buf, key, min_t(u32, len, IWT_MPA_KEY_LEN)))
		return IWT_MPA_BAD;
	if (len < IWT_MPA_HDR_LEN)
		return IWT_MPA_MORE;
	pd = be16_to_cpu(h->pd_len);
	spoken = h->rev >= 1 && h->rev <= max_rev;
	enhanced = spoken && h->rev >= 2 && h->flags & IWT_MPA_F_ENHANCED;
	if (pd > IWT_MPA_MAX_PD || (enhanced && pd < IWT_MPA_ENH_LEN))
		return IWT_MPA_BAD;
	if (len < IWT_MPA_HDR_LEN + pd)
		return IWT_MPA_MORE;

	f->reply = reply;
	f->markers = h->flags & IWT_MPA_F_MARKERS;
	f->crc = h->flags & IWT_MPA_F_CRC;
	f->reject = reply && h->flags & IWT_MPA_F_REJECT;
	f->large = h->flags & IWT_MPA_F_LARGE;
	f->rev = h->rev;
	f->pd_len = pd;
	f->pd_off = IWT_MPA_HDR_LEN;
	f->enhanced = enhanced;
	if (enhanced) {
		mpa_parse_enh(buf + IWT_MPA_HDR_LEN, f);
		f->pd_len -= IWT_MPA_ENH_LEN;
		f->pd_off += IWT_MPA_ENH_LEN;
	}
	return spoken ? IWT_MPA_OK : IWT_MPA_BAD_REV;
}

/*
 * What tells an RDMAC peer is its revision; such a one always wants markers, and CRC, which it
 * gets whatever it says (RFC 5044 C.1, C.2.3).
 */
static bool mpa_is_rdmac(const struct iwt_mpa_wish *own,
			 const struct iwt_mpa_frame *f)
{
	return own->rdmac && !f->rev && f->markers;
}

/**
 * iwt_mpa_admit() - can this side do what a well-formed frame asks for?
 * @own: what this side may and wants to do
 * @f: the frame, of which iwt_mpa_parse() said IWT_MPA_OK or IWT_MPA_BAD_REV
 *
 * A Request that is not fit is answered with R, a Reply ends in a graceful close: revision 0
 * where it is not spoken (RFC 5044 C.2.1, C.2.2), a peer that declines CRC where it is
 * required, and private data longer than what can be given to the ULP, which would have to be
 * cut off or dropped (RFC 5044 7.1.1 wants them given unchanged). A reject needs nothing.
 *
 * Return: IWT_MPA_OK, IWT_MPA_UNFIT, or IWT_MPA_BAD_REV, an improper frame.
 */
enum iwt_mpa_verdict iwt_mpa_admit(const struct iwt_mpa_wish *own,
				   const struct iwt_mpa_frame *f)
{
	if (f->rev > own->max_rev)
		return IWT_MPA_BAD_REV;
	if (!f->rev && !mpa_is_rdmac(own, f))
		return IWT_MPA_UNFIT;
	if (f->reject)
		return IWT_MPA_OK;
	if (own->crc_required && !f->crc)
		return IWT_MPA_UNFIT;
	return f->pd_len > own->pd_max ? IWT_MPA_UNFIT : IWT_MPA_OK;
}

static void mpa_build_enh(const struct iwt_mpa_frame *f, u8 *word)
{
	struct iwt_mpa_enh *w = (void *)word;
	u16 second = f->ord & IWT_MPA_ENH_DEPTH;
	u16 first = f->ird & IWT_MPA_ENH_DEPTH;

	if (f->p2p) {
		first |= IWT_MPA_ENH_P2P;
		first |= f->rtr_send ? IWT_MPA_ENH_RTR_SEND : 0;
		second |= f->rtr_write ? IWT_MPA_ENH_RTR_WRITE : 0;
		second |= f->rtr_read ? IWT_MPA_ENH_RTR_READ : 0;
	}
	w->ird = cpu_to_be16(first);
	w->ord = cpu_to_be16(second);
}

/**
 * iwt_mpa_build() - write a startup frame (RFC 5044 7.1.1, RFC 6581 6)
 * @f: what to say; @f->pd_off is ignored
 * @pd: @f->pd_len octets of the ULP's private data; may lie in @buf
 * @buf: room for IWT_MPA_MAX_FRAME octets
 *
 * Return: octets written, 0 when the private data do not fit in a frame.
 */
u32 iwt_mpa_build(const struct iwt_mpa_frame *f, const void *pd, u8 *buf)
{
	struct iwt_mpa_hdr *h = (void *)buf;
	u32 enh_len = f->enhanced ? IWT_MPA_ENH_LEN : 0;
	u32 len = IWT_MPA_HDR_LEN + enh_len;

	if (f->pd_len > IWT_MPA_MAX_PD - enh_len)
		return 0;
	if (f->pd_len)
		memmove(buf + len, pd, f->pd_len);
	memcpy(h->key, f->reply ? IWT_MPA_KEY_REP : IWT_MPA_KEY_REQ,
	       IWT_MPA_KEY_LEN);
	h->flags = (f->markers ? IWT_MPA_F_MARKERS : 0) |
		   (f->crc ? IWT_MPA_F_CRC : 0) |
		   (f->reply && f->reject ? IWT_MPA_F_REJECT : 0) |
		   (f->enhanced ? IWT_MPA_F_ENHANCED : 0) |
		   (f->large ? IWT_MPA_F_LARGE : 0);
	h->rev = f->rev;
	h->pd_len = cpu_to_be16(f->pd_len + enh_len);
	if (f->enhanced)
		mpa_build_enh(f, buf + IWT_MPA_HDR_LEN);
	return len + f->pd_len;
}

/* A depth for the frame, whose highest value has another meaning. */
static u16 mpa_depth(u16 depth)
{
	return min_t(u16, depth, IWT_MPA_ENH_DEPTH - 1);
}

/**
 * iwt_mpa_request() - what the initiator's Request is to say
 * @own: what this side may and wants to do
 * @req: all of it is set; the caller then sets @pd_len
 *
 * Revision 2 if it is spoken, because it alone settles the read depths (RFC 6581 9). Where the
 * peer may be an RDMAC one, revision 1: to such a peer the enhanced word would be private data
 * (RFC 5044 C.2.5).
 */
void iwt_mpa_request(const struct iwt_mpa_wish *own, struct iwt_mpa_frame *req)
{
	memset(req, 0, sizeof(*req));
	req->markers = own->markers;
	req->crc = own->crc;
	req->large = own->large;
	req->rev = 1;
	req->pd_off = IWT_MPA_HDR_LEN;
	if (own->max_rev < 2 || own->rdmac)
		return;
	req->rev = 2;
	req->enhanced = true;
	req->pd_off += IWT_MPA_ENH_LEN;
	req->p2p = own->p2p;
	req->rtr_send = own->p2p;
	req->rtr_write = own->p2p;
	req->rtr_read = own->p2p;
	req->ird = mpa_depth(own->ird);
	req->ord = mpa_depth(own->ord);
}

/*
 * FPDUs may be longer than a segment if both ends have said so, and there are no markers: an
 * end that wants markers places segments that arrive out of order, which it can do only if each
 * has whole FPDUs (RFC 5044 A.3).
 */
static bool mpa_tx_large(const struct iwt_mpa_frame *req,
			 const struct iwt_mpa_frame *rep,
			     const struct iwt_mpa_terms *terms)
{
	return req->large && rep->large && !terms->tx_markers;
}

/*
 * The responder takes one of the kinds that were offered (RFC 6581 9.2). A Send looks like a
 * message of the ULP, so it comes last. With nothing in common the responder names the kinds
 * that it supports.
 */
static enum iwt_mpa_rtr mpa_answer_rtr(const struct iwt_mpa_frame *req,
				       struct iwt_mpa_frame *rep)
{
	bool tagged = req->rtr_write || req->rtr_read;

	if (!req->p2p)
		return IWT_RTR_NONE;
	rep->p2p = true;
	rep->rtr_send = req->rtr_send && !tagged;
	rep->rtr_write = req->rtr_write || !(tagged || rep->rtr_send);
	rep->rtr_read = req->rtr_read || !(tagged || rep->rtr_send);
	if (rep->rtr_send)
		return IWT_RTR_SEND;
	return rep->rtr_write ? IWT_RTR_WRITE : IWT_RTR_READ;
}

/* The enhanced part of a Reply (RFC 6581 9.1, 9.2). */
static void mpa_answer_enh(const struct iwt_mpa_frame *req,
			   struct iwt_mpa_frame *rep,
			       struct iwt_mpa_terms *terms)
{
	terms->enhanced = true;
	terms->rtr = mpa_answer_rtr(req, rep);
	if (req->ord != IWT_MPA_ENH_DEPTH)
		terms->ird = min(terms->ird, req->ord);
	if (req->ird != IWT_MPA_ENH_DEPTH)
		terms->ord = min(terms->ord, req->ird);
	/* A Read as ready-to-receive message takes a place of its own. */
	if (rep->rtr_read && !terms->ird)
		terms->ird = 1;

	rep->enhanced = true;
	rep->pd_off += IWT_MPA_ENH_LEN;
	rep->ird = req->ord == IWT_MPA_ENH_DEPTH ? IWT_MPA_ENH_DEPTH : terms->ird;
	rep->ord = req->ird == IWT_MPA_ENH_DEPTH ? IWT_MPA_ENH_DEPTH : terms->ord;
}

/**
 * iwt_mpa_answer() - what the responder's Reply is to say
 * @own: what this side may and wants to do
 * @req: the Request, as iwt_mpa_parse() accepted it
 * @rep: all of it is set; the caller then sets @pd_len, and @reject to refuse
 * @terms: what holds once the Reply is out; @err is IWT_OK
 *
 * The Reply is of the Request's revision and kind (RFC 6581 10), but never of revision 0 unless
 * that is spoken. It says C whenever CRC is going to be used, that is unless both ends decline
 * (RFC 5044 7.1.1). With an RDMAC peer there are markers and CRC in both directions (RFC 5044
 * C.2.4).
 */
void iwt_mpa_answer(const struct iwt_mpa_wish *own,
		    const struct iwt_mpa_frame *req,
		    struct iwt_mpa_frame *rep, struct iwt_mpa_terms *terms)
{
	memset(terms, 0, sizeof(*terms));
	terms->rdmac = mpa_is_rdmac(own, req);
	terms->crc = own->crc || req->crc || terms->rdmac;
	terms->tx_markers = req->markers;
	terms->rx_markers = own->markers || terms->rdmac;
	terms->ird = mpa_depth(own->ird);
	terms->ord = mpa_depth(own->ord);
	terms->rtr = IWT_RTR_NONE;
	terms->err = IWT_OK;

	memset(rep, 0, sizeof(*rep));
	rep->reply = true;
	rep->markers = terms->rx_markers;
	rep->crc = terms->crc;
	rep->large = req->large && own->large;
	terms->tx_large = mpa_tx_large(req, rep, terms);
	rep->rev = req->rev || terms->rdmac ? req->rev : 1;
	rep->pd_off = IWT_MPA_HDR_LEN;
	if (req->enhanced)
		mpa_answer_enh(req, rep, terms);
}

/**
 * iwt_mpa_refuse() - what the responder's Reply is to say when it rejects
 * @own: what this side may and wants to do
 * @req: the Request
 * @rep: all of it is set; the caller then sets @pd_len
 *
 * Otherwise as an acceptance (RFC 6581 10). What this side needs in ORD is told as it is, since
 * the initiator's IRD may be the reason (RFC 6581 9.1).
 */
void iwt_mpa_refuse(const struct iwt_mpa_wish *own,
		    const struct iwt_mpa_frame *req, struct iwt_mpa_frame *rep)
{
	struct iwt_mpa_terms terms;

	iwt_mpa_answer(own, req, rep, &terms);
	rep->reject = true;
	if (rep->enhanced && rep->ord != IWT_MPA_ENH_DEPTH)
		rep->ord = mpa_depth(own->ord);
}

/* The initiator's pick of what the responder takes (RFC 6581 9.2). */
static u32 mpa_conclude_rtr(const struct iwt_mpa_frame *req,
			    const struct iwt_mpa_frame *rep,
				struct iwt_mpa_terms *terms)
{
	if (!req->p2p || !rep->p2p)
		return IWT_OK;
	if (req->rtr_write && rep->rtr_write)
		terms->rtr = IWT_RTR_WRITE;
	else if (req->rtr_read && rep->rtr_read && rep->ird)
		terms->rtr = IWT_RTR_READ;
	else if (req->rtr_send && rep->rtr_send)
		terms->rtr = IWT_RTR_SEND;
	else
		return IWT_ERR_MPA_RTR;
	/* It is a Read like any other, for which the responder has a place. */
	if (terms->rtr == IWT_RTR_READ && !terms->ord)
		terms->ord = 1;
	return IWT_OK;
}

/**
 * iwt_mpa_conclude() - what the initiator makes of the Reply
 * @own: what this side may and wants to do
 * @req: the Request that was sent
 * @rep: the Reply, accepted by iwt_mpa_parse() and not a reject
 * @terms: what holds; with @err set the first FPDU is a Terminate saying it
 *
 * A plain Reply to an enhanced Request settles no depths, and a Reply that does not go along
 * with peer-to-peer leaves the roles of client and server; both work without more words. ORD is
 * lowered to the responder's IRD, IRD is raised to the responder's ORD as far as the device
 * goes (RFC 6581 9.1). A Reply of revision 0 is that of an RDMAC peer and turns markers and CRC
 * on in both directions (RFC 5044 C.2.5).
 */
void iwt_mpa_conclude(const struct iwt_mpa_wish *own,
		      const struct iwt_mpa_frame *req,
		      const struct iwt_mpa_frame *rep,
		      struct iwt_mpa_terms *terms)
{
	memset(terms, 0, sizeof(*terms));
	terms->rdmac = mpa_is_rdmac(own, rep);
	terms->crc = req->crc || rep->crc || terms->rdmac;
	terms->tx_markers = rep->markers;
	terms->rx_markers = req->markers || terms->rdmac;
	terms->tx_large = mpa_tx_large(req, rep, terms);
	terms->ird = mpa_depth(own->ird);
	terms->ord = mpa_depth(own->ord);
	terms->rtr = IWT_RTR_NONE;
	terms->err = IWT_OK;
	if (!req->enhanced || !rep->enhanced)
		return;

	terms->enhanced = true;
	if (rep->ird != IWT_MPA_ENH_DEPTH)
		terms->ord = min(terms->ord, rep->ird);
	terms->err = mpa_conclude_rtr(req, rep, terms);
	if (rep->ord == IWT_MPA_ENH_DEPTH || rep->ord <= terms->ird)
		return;
	if (rep->ord <= own->ird_max)
		terms->ird = rep->ord;
	else
		terms->err = IWT_ERR_MPA_IRD;
}

/**
 * iwt_mulpdu() - most octets of a ULPDU (RFC 5044 4.5)
 * @emss: what TCP puts in one segment now
 * @markers: the peer wants markers
 *
 * Return: within IWT_MULPDU_MIN and IWT_MULPDU_MAX whatever @emss is.
 */
u32 iwt_mulpdu(u32 emss, bool markers)
{
	u32 used = IWT_FPDU_LEN_LEN + IWT_FPDU_CRC_LEN + emss % 4;

	if (markers)
		used += IWT_MARKER_LEN * DIV_ROUND_UP(emss, IWT_MARKER_SPACING);
	if (emss < used + IWT_MULPDU_MIN)
		return IWT_MULPDU_MIN;
	return min_t(u32, emss - used, IWT_MULPDU_MAX);
}
