// SPDX-License-Identifier: GPL-2.0
/* Segmentation of a message into FPDUs (RFC 5041 5.2). */
#include "txseg.h"

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "first.h"

static void txseg_init(struct iwt_txseg *m, u8 opcode, u32 len)
{
	memset(&m->ddp, 0, sizeof(m->ddp));
	m->ddp.dv = IWT_DDP_VERSION;
	m->ddp.rv = 1;
	m->ddp.opcode = opcode;
	m->rdmap_len = 0;
	m->left = len;
	m->done = false;
}

/**
 * iwt_txseg_tagged() - begin a Write or a Read Response
 * @m: message; the function sets all fields
 * @opcode: IWT_OP_WRITE or IWT_OP_READ_RESP
 * @stag: the peer's STag
 * @to: tagged offset of the first octet
 * @len: length of the message; a message of length 0 has one FPDU
 */
void iwt_txseg_tagged(struct iwt_txseg *m, u8 opcode, u32 stag, u64 to, u32 len)
{
	txseg_init(m, opcode, len);
	m->ddp.tagged = true;
	m->ddp.stag = stag;
	m->ddp.to = to;
}

/**
 * iwt_txseg_send() - begin a message of the Send family
 * @m: message; the function sets all fields
 * @opcode: IWT_OP_SEND, _SEND_INV, _SEND_SE or _SEND_SE_INV
 * @inval_stag: STag to invalidate, ignored for opcodes without invalidation
 * @msn: number of the message on queue 0
 * @len: length of the message; a message of length 0 has one FPDU
 */
void iwt_txseg_send(struct iwt_txseg *m, u8 opcode, u32 inval_stag, u32 msn,
		    u32 len)
{
	txseg_init(m, opcode, len);
	if (iwt_rdmap_rule(opcode)->invalidates)
		m->ddp.stag = inval_stag;
	m->ddp.qn = IWT_QN_SEND;
	m->ddp.msn = msn;
}

/**
 * iwt_txseg_read_req() - begin a Read Request
 * @m: message; the function sets all fields
 * @msn: number of the message on queue 1
 * @r: contents of the Read Request
 */
void iwt_txseg_read_req(struct iwt_txseg *m, u32 msn,
			const struct iwt_rdmap_read *r)
{
	txseg_init(m, IWT_OP_READ_REQ, 0);
	m->ddp.qn = IWT_QN_READ_REQ;
	m->ddp.msn = msn;
	iwt_rdmap_build_read(r, m->rdmap_hdr);
	m->rdmap_len = sizeof(struct iwt_read_req);
}

/**
 * iwt_txseg_imm() - begin an Immediate Data message (RFC 7306 6)
 * @m: message; the function sets all fields
 * @opcode: IWT_OP_IMM or IWT_OP_IMM_SE
 * @msn: number of the message on queue 0, shared with Sends
 * @imm: all 8 octets
 */
void iwt_txseg_imm(struct iwt_txseg *m, u8 opcode, u32 msn,
		   const struct iwt_imm *imm)
{
	txseg_init(m, opcode, 0);
	m->ddp.qn = IWT_QN_SEND;
	m->ddp.msn = msn;
	memcpy(m->rdmap_hdr, imm, sizeof(*imm));
	m->rdmap_len = sizeof(*imm);
}

/**
 * iwt_txseg_atomic_req() - begin an Atomic Request (RFC 7306 5.2.1)
 * @m: message; the function sets all fields
 * @msn: number of the message on queue 1, shared with Read Requests
 * @a: contents of the Atomic Request
 */
void iwt_txseg_atomic_req(struct iwt_txseg *m, u32 msn,
			  const struct iwt_atomic *a)
{
	txseg_init(m, IWT_OP_ATOMIC_REQ, 0);
	m->ddp.qn = IWT_QN_READ_REQ;
	m->ddp.msn = msn;
	iwt_atomic_build(a, m->rdmap_hdr);
	m->rdmap_len = sizeof(struct iwt_atomic_req);
}

/**
 * iwt_txseg_atomic_resp() - begin an Atomic Response (RFC 7306 5.2.2)
 * @m: message; the function sets all fields
 * @msn: number of the message on queue 3
 * @id: Request Identifier of the request
 * @value: value of the memory before the operation
 */
void iwt_txseg_atomic_resp(struct iwt_txseg *m, u32 msn, u32 id, u64 value)
{
	txseg_init(m, IWT_OP_ATOMIC_RESP, 0);
	m->ddp.qn = IWT_QN_ATOMIC;
	m->ddp.msn = msn;
	iwt_atomic_build_resp(id, value, m->rdmap_hdr);
	m->rdmap_len = sizeof(struct iwt_atomic_resp);
}

/**
 * iwt_txseg_term() - begin the Terminate, the only message of queue 2
 * @m: message; the function sets all fields
 * @ulpdu: as iwt_term_build() wrote it
 * @len: as iwt_term_build() returned it
 */
void iwt_txseg_term(struct iwt_txseg *m, const u8 *ulpdu, u32 len)
{
	txseg_init(m, IWT_OP_TERM, 0);
	m->ddp.qn = IWT_QN_TERM;
	m->ddp.msn = IWT_FIRST_MSN;
	m->rdmap_len = min_t(u32, len, sizeof(m->rdmap_hdr));
	memcpy(m->rdmap_hdr, ulpdu, m->rdmap_len);
}

static u32 txseg_hdr_len(const struct iwt_txseg *m)
{
	return m->rdmap_len +
		(m->ddp.tagged ? IWT_DDP_TAGGED_LEN : IWT_DDP_UNTAGGED_LEN);
}

static u32 txseg_payload(const struct iwt_txseg *m, u32 mulpdu)
{
	mulpdu = clamp_t(u32, mulpdu, IWT_MULPDU_MIN, IWT_MULPDU_MAX);
	return min(m->left, mulpdu - txseg_hdr_len(m));
}

/* Size of an FPDU with a ULPDU of the given length, without markers. */
static u32 txseg_fpdu_size(u32 ulpdu_len)
{
	return round_up(IWT_FPDU_LEN_LEN + ulpdu_len, 4) + IWT_FPDU_CRC_LEN;
}

/**
 * iwt_txseg_size() - size of the next FPDU
 * @m: the message, not done yet
 * @mulpdu: as for iwt_txseg_next()
 *
 * Return: number of octets, without markers.
 */
u32 iwt_txseg_size(const struct iwt_txseg *m, u32 mulpdu)
{
	return txseg_fpdu_size(txseg_hdr_len(m) +
				   txseg_payload(m, mulpdu));
}

/**
 * iwt_txseg_is_last() - is the next FPDU the last one of the message?
 * @m: the message, not done yet
 * @mulpdu: as for iwt_txseg_next()
 *
 * Return: true if so.
 */
bool iwt_txseg_is_last(const struct iwt_txseg *m, u32 mulpdu)
{
	return txseg_payload(m, mulpdu) == m->left;
}

/**
 * iwt_txseg_rdmac() - change a message into a message for an RDMAC peer (RFC 5044 C.1)
 * @m: message that one of the functions above has begun
 *
 * All segments of the message will have version 0 of DDP and RDMAP.
 */
void iwt_txseg_rdmac(struct iwt_txseg *m)
{
	m->ddp.dv = IWT_DDP_VERSION_RDMAC;
	m->ddp.rv = IWT_DDP_VERSION_RDMAC;
}

/**
 * iwt_txseg_next() - plan the next FPDU
 * @m: the message, not done yet; advanced by one segment
 * @mulpdu: maximum length of a ULPDU now, from iwt_mulpdu()
 * @p: plan; the function sets all members, but only the first head_len octets of head
 *
 * The segment contains as much payload as fits, so only the ULPDU of the last segment can be
 * shorter than @mulpdu.
 */
void iwt_txseg_next(struct iwt_txseg *m, u32 mulpdu, struct iwt_txplan *p)
{
	u32 hdr_len = txseg_hdr_len(m);
	u32 ulpdu_len;

	p->payload = txseg_payload(m, mulpdu);
	p->last = p->payload == m->left;
	m->ddp.last = p->last;
	ulpdu_len = hdr_len + p->payload;

	put_unaligned_be16(ulpdu_len, p->head);
	iwt_ddp_build(&m->ddp, p->head + IWT_FPDU_LEN_LEN);
	memcpy(p->head + IWT_FPDU_LEN_LEN + hdr_len - m->rdmap_len,
	       m->rdmap_hdr, m->rdmap_len);
	p->head_len = IWT_FPDU_LEN_LEN + hdr_len;
	p->pad = -(IWT_FPDU_LEN_LEN + ulpdu_len) & 3;
	p->size = txseg_fpdu_size(ulpdu_len);

	if (m->ddp.tagged)
		m->ddp.to += p->payload;
	else
		m->ddp.mo += p->payload;
	m->left -= p->payload;
	m->done = p->last;
}

/**
 * iwt_txseg_undo() - cancel the FPDU that was planned last
 * @m: the message; set to its values before the last call of iwt_txseg_next() or
 *	iwt_txseg_again()
 * @p: plan of the FPDU to cancel
 */
void iwt_txseg_undo(struct iwt_txseg *m, const struct iwt_txplan *p)
{
	if (m->ddp.tagged)
		m->ddp.to -= p->payload;
	else
		m->ddp.mo -= p->payload;
	m->left += p->payload;
	m->done = false;
}
