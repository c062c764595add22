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
 * iwt_mpa_need() - how many octets of the startup frame must be received?
 * @buf: received octets of the frame
 * @len: number of received octets
 *
 * Return: the length of the fixed part if the fixed part has not been received yet, else the
 * length of the frame. If the length of the private data exceeds IWT_MPA_MAX_PD, the function
 * returns the length of the fixed part: the frame is wrong, and no more octets are needed.
 */
u32 iwt_mpa_need(const u8 *buf, u32 len)
{
	u32 pd;

	if (len < IWT_MPA_HDR_LEN)
		return IWT_MPA_HDR_LEN;
	pd = get_unaligned_be16(buf + IWT_MPA_PD_LEN_OFF);
	return pd > IWT_MPA_MAX_PD ? IWT_MPA_HDR_LEN : IWT_MPA_HDR_LEN + pd;
}

/* Read the enhanced word (RFC 6581 6). If the flag A is clear, the other flags are ignored. */
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
 * @len: number of octets in @buf; octets after the frame are ignored
 * @reply: true: the frame must be a Reply; false: the frame must be a Request
 * @max_rev: highest supported revision; for a Reply, the revision of the Request that was sent
 * @f: frame; the function sets all fields, and sets them to 0 unless the result is IWT_MPA_OK or
 *	IWT_MPA_BAD_REV
 *
 * The first wrong octet of the key is an error, so that this end does not wait for a peer that
 * does not use MPA. The flag S is evaluated only in revision 2. The flag R in a Request is
 * ignored. The reserved bits are ignored, except IWT_MPA_F_LARGE, which takes effect if both ends
 * are configured to use this flag.
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
 * Is the frame of an RDMAC peer, and does this end support RDMAC peers? An RDMAC peer uses
 * revision 0 and always requests markers. With an RDMAC peer CRC is always used, even if the peer
 * does not request CRC (RFC 5044 C.1, C.2.3).
 */
static bool mpa_is_rdmac(const struct iwt_mpa_wish *own,
			 const struct iwt_mpa_frame *f)
{
	return own->rdmac && !f->rev && f->markers;
}

/**
 * iwt_mpa_admit() - can this end accept a well-formed frame?
 * @own: capabilities and settings of this end
 * @max_rev: as for iwt_mpa_parse()
 * @f: the frame, for which iwt_mpa_parse() returned IWT_MPA_OK or IWT_MPA_BAD_REV
 *
 * The caller answers an unfit Request with a Reply that has R set, and closes gracefully after an
 * unfit Reply. A frame is unfit if it has revision 0 and is not from a supported RDMAC peer (RFC
 * 5044 C.2.1, C.2.2), or if the peer declines CRC and this end requires CRC (with an RDMAC peer
 * CRC is always used). A frame is also unfit if its private data are longer than the ULP can
 * receive, because MPA should pass all private data to the ULP (RFC 5044 7.1.1). For a Reply with
 * R, only the revision is checked.
 *
 * Return: IWT_MPA_OK; IWT_MPA_UNFIT; or IWT_MPA_BAD_REV if the revision is higher than @max_rev,
 * so that the frame is improper.
 */
enum iwt_mpa_verdict iwt_mpa_admit(const struct iwt_mpa_wish *own, u8 max_rev,
				   const struct iwt_mpa_frame *f)
{
	bool rdmac = mpa_is_rdmac(own, f);

	if (f->rev > max_rev)
		return IWT_MPA_BAD_REV;
	if (!f->rev && !rdmac)
		return IWT_MPA_UNFIT;
	if (f->reject)
		return IWT_MPA_OK;
	if (own->crc_required && !f->crc && !rdmac)
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
 * @f: contents of the frame; @f->pd_off is ignored
 * @pd: @f->pd_len octets of private data of the ULP; @pd may point into @buf
 * @buf: buffer of IWT_MPA_MAX_FRAME octets
 *
 * Return: number of octets written, 0 when the private data do not fit in a frame.
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

/*
 * Limit IRD or ORD to the highest number that a frame can contain: one less than the highest
 * value of the field, because that value means "not negotiated".
 */
static u16 mpa_depth(u16 depth)
{
	return min_t(u16, depth, IWT_MPA_ENH_DEPTH - 1);
}

/**
 * iwt_mpa_request() - compose the Request of the initiator
 * @own: capabilities and settings of this end
 * @req: Request; the function sets all fields, the caller then sets @pd_len
 *
 * The Request has revision 2 if this end supports revision 2, because only revision 2 negotiates
 * IRD and ORD (RFC 6581 9). But if the peer may be an RDMAC peer, the Request has revision 1
 * (RFC 5044 C.2.5): an RDMAC peer would treat the enhanced word as private data.
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
 * May this end send FPDUs that are longer than a segment? Both ends must offer such FPDUs, and
 * the peer must not request markers: a receiver that requests markers may place segments that
 * arrive out of order (RFC 5044 A.3). If an FPDU needs several segments, the receiver can place
 * nothing of the FPDU before all of these segments have arrived.
 */
static bool mpa_tx_large(const struct iwt_mpa_frame *req,
			 const struct iwt_mpa_frame *rep,
			     const struct iwt_mpa_terms *terms)
{
	return req->large && rep->large && !terms->tx_markers;
}

/*
 * The responder accepts kinds of ready-to-receive messages that the initiator offers (RFC 6581
 * 9.2). A Send looks like a message of the ULP, so the responder accepts a Send only if the
 * initiator offers no other kind. If the initiator offers no kind, the responder offers a Write
 * and a Read. Return: the kind that the initiator will probably send.
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
	/* If the ready-to-receive message may be a Read, IRD must be at least 1. */
	if (rep->rtr_read && !terms->ird)
		terms->ird = 1;

	rep->enhanced = true;
	rep->pd_off += IWT_MPA_ENH_LEN;
	rep->ird = req->ord == IWT_MPA_ENH_DEPTH ? IWT_MPA_ENH_DEPTH : terms->ird;
	rep->ord = req->ird == IWT_MPA_ENH_DEPTH ? IWT_MPA_ENH_DEPTH : terms->ord;
}

/**
 * iwt_mpa_answer() - compose the Reply of the responder
 * @own: capabilities and settings of this end
 * @req: the Request, as iwt_mpa_parse() accepted it
 * @rep: Reply; the function sets all fields, the caller then sets @pd_len
 * @terms: set to the negotiated terms, which are valid once the Reply is sent; the function sets
 *	@terms->err to IWT_OK
 *
 * The Reply has the revision of the Request, and is enhanced if the Request is enhanced (RFC 6581
 * 10). But if the Request has revision 0 and is not from a supported RDMAC peer, the Reply has
 * revision 1. The flag C is set if CRC will be used: CRC is not used only if both ends decline
 * CRC (RFC 5044 7.1.1). With an RDMAC peer, markers and CRC are used in both directions (RFC 5044
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
 * iwt_mpa_refuse() - compose a Reply that rejects the Request
 * @own: capabilities and settings of this end
 * @req: the Request
 * @rep: Reply; the function sets all fields, the caller then sets @pd_len
 *
 * The Reply is the same as the Reply of iwt_mpa_answer(), except for R and ORD (RFC 6581 10). ORD
 * is the value that this end needs. It is not limited to the IRD of the initiator, because that
 * IRD may be the reason for the reject (RFC 6581 9.1).
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

/*
 * The initiator selects a kind of ready-to-receive message that the responder accepts (RFC 6581
 * 9.2). Return: IWT_OK, or IWT_ERR_MPA_RTR if the responder accepts no kind that was offered.
 */
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
	/* The ready-to-receive Read needs an ORD of 1; the responder's IRD allows it. */
	if (terms->rtr == IWT_RTR_READ && !terms->ord)
		terms->ord = 1;
	return IWT_OK;
}

/**
 * iwt_mpa_conclude() - compute the terms of the initiator from the Reply
 * @own: capabilities and settings of this end
 * @req: the Request that was sent
 * @rep: the Reply, which iwt_mpa_parse() found well formed; if R is set, @terms has no meaning
 * @terms: set to the negotiated terms; if @terms->err is not IWT_OK, the first FPDU has to be a
 *	Terminate with this error
 *
 * It is no error if the Reply is not enhanced: then IRD and ORD are not negotiated. It is no
 * error either if the responder declines peer-to-peer mode: then the roles of client and server
 * remain. ORD is lowered to the responder's IRD, and IRD is raised to the responder's ORD up to
 * the limit of the device (RFC 6581 9.1). A Reply of revision 0 is from an RDMAC peer: markers
 * and CRC are used in both directions (RFC 5044 C.2.5).
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
 * iwt_mulpdu() - maximum length of a ULPDU (RFC 5044 4.5)
 * @emss: number of octets that TCP puts in one segment now
 * @markers: the peer requests markers
 *
 * Return: length, within IWT_MULPDU_MIN and IWT_MULPDU_MAX for any @emss.
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
