/* SPDX-License-Identifier: GPL-2.0 */
/* Segmentation of a message into FPDUs (RFC 5041 5.2). Pure functions. */
#ifndef IWT_TXSEG_H
#define IWT_TXSEG_H

#include <linux/unaligned.h>

#include "atomic.h"

/* One outbound RDMAP message and its progress. */
struct iwt_txseg {
	struct iwt_ddp ddp;	/* header of the next segment */
	u8 rdmap_hdr[52];	/* RDMAP header of a message without payload */
	u8 rdmap_len;
	u32 left;		/* payload octets not yet planned */
	bool done;
};

/* The next FPDU: first the octets in head, then payload of the message, pad and CRC. */
struct iwt_txplan {
	u8 head[IWT_FPDU_LEN_LEN + IWT_MAX_ULPDU_HDR];
	u8 head_len;
	u8 pad;
	bool last;
	u32 payload;
	u32 size;		/* size of the whole FPDU, without markers */
};

void iwt_txseg_tagged(struct iwt_txseg *m, u8 opcode, u32 stag, u64 to, u32 len);
void iwt_txseg_send(struct iwt_txseg *m, u8 opcode, u32 inval_stag, u32 msn,
		    u32 len);
void iwt_txseg_read_req(struct iwt_txseg *m, u32 msn,
			const struct iwt_rdmap_read *r);
void iwt_txseg_imm(struct iwt_txseg *m, u8 opcode, u32 msn,
		   const struct iwt_imm *imm);
void iwt_txseg_atomic_req(struct iwt_txseg *m, u32 msn,
			  const struct iwt_atomic *a);
void iwt_txseg_atomic_resp(struct iwt_txseg *m, u32 msn, u32 id, u64 value);
void iwt_txseg_term(struct iwt_txseg *m, const u8 *ulpdu, u32 len);
u32 iwt_txseg_size(const struct iwt_txseg *m, u32 mulpdu);
bool iwt_txseg_is_last(const struct iwt_txseg *m, u32 mulpdu);
void iwt_txseg_rdmac(struct iwt_txseg *m);
void iwt_txseg_next(struct iwt_txseg *m, u32 mulpdu, struct iwt_txplan *p);
void iwt_txseg_undo(struct iwt_txseg *m, const struct iwt_txplan *p);

/**
 * iwt_txseg_again() - plan another FPDU of the same size
 * @m: the message; advanced by one segment
 * @p: plan of the previous FPDU of the same message, by iwt_txseg_next() or this function;
 *	only TO or MO in @p changes
 *
 * The function is inline because it does most of the work for a long message.
 *
 * Return: false when the rest of the message fits in one FPDU of this size; then nothing was
 * changed, and iwt_txseg_next() must plan the last FPDU.
 */
static inline bool iwt_txseg_again(struct iwt_txseg *m, struct iwt_txplan *p)
{
	if (m->left <= p->payload)
		return false;
	m->left -= p->payload;
	if (m->ddp.tagged) {
		put_unaligned_be64(m->ddp.to, p->head + IWT_FPDU_LEN_LEN +
				   offsetof(struct iwt_ddp_tagged, to));
		m->ddp.to += p->payload;
	} else {
		put_unaligned_be32(m->ddp.mo, p->head + IWT_FPDU_LEN_LEN +
				   offsetof(struct iwt_ddp_untagged, mo));
		m->ddp.mo += p->payload;
	}
	return true;
}

#endif
