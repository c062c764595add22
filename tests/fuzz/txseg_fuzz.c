// SPDX-License-Identifier: GPL-2.0
/*
 * Cuts messages into FPDUs, each with an arbitrary MULPDU, in one stream. Then reads the messages
 * back.
 */
#include "frame.h"
#include "fuzz.h"
#include "mpa.h"
#include "pieces.h"

#define STREAM_MAX	(1 << 17)

static u8 stream[STREAM_MAX], payload[1 << 16];

struct sent {
	u8 opcode;
	u32 stag, msn, len;
	u64 to;
	struct iwt_atomic atomic;
};

/* Writes one message to the stream; returns its length in octets. */
static u32 put_message(struct input *in, struct frame_rules *rules,
		       struct sent *s, u32 at)
{
	static const struct iwt_rdmap_read read = { 1, 2, 3, 4, 5 };
	static const struct iwt_imm imm;
	struct iwt_txseg m;
	u32 start = at;

	s->opcode = take(in, 1) % 12;
	if (s->opcode == IWT_OP_TERM)
		s->opcode = IWT_OP_WRITE;
	s->stag = take(in, 4);
	s->msn = take(in, 4);
	s->to = take(in, 8);
	s->len = take(in, 2) >> take(in, 1) % 16;
	if (!iwt_rdmap_rule(s->opcode)->payload)
		s->len = 0;
	if (s->opcode == IWT_OP_READ_REQ) {
		iwt_txseg_read_req(&m, s->msn, &read);
	} else if (s->opcode == IWT_OP_ATOMIC_REQ) {
		s->atomic = (struct iwt_atomic){
			.op = s->stag & 15, .id = s->msn, .stag = s->stag,
			.to = s->to, .data = take(in, 8),
			.data_mask = take(in, 8), .compare = take(in, 8),
			.compare_mask = take(in, 8),
		};
		iwt_txseg_atomic_req(&m, s->msn, &s->atomic);
	} else if (s->opcode == IWT_OP_ATOMIC_RESP) {
		iwt_txseg_atomic_resp(&m, s->msn, s->stag, s->to);
	} else if (s->opcode >= IWT_OP_IMM) {
		iwt_txseg_imm(&m, s->opcode, s->msn, &imm);
	} else if (iwt_rdmap_rule(s->opcode)->tagged) {
		iwt_txseg_tagged(&m, s->opcode, s->stag, s->to, s->len);
	} else {
		iwt_txseg_send(&m, s->opcode, s->stag, s->msn, s->len);
	}
	while (!m.done)
		at += frame_next(&m, iwt_mulpdu(take(in, 2), rules->markers),
				 payload, s->len, rules, stream + at);
	return at - start;
}

/* If the message is an Atomic Request or Response, checks its header. */
static void check_atomic(const u8 *hdr, const struct sent *s)
{
	const struct iwt_atomic *a = &s->atomic;
	struct iwt_atomic b;
	u64 value;
	u32 id;

	if (s->opcode == IWT_OP_ATOMIC_RESP) {
		iwt_atomic_parse_resp(hdr, &id, &value);
		SAME(id, s->stag);
		SAME(value, s->to);
	}
	if (s->opcode != IWT_OP_ATOMIC_REQ)
		return;
	iwt_atomic_parse(hdr, &b);
	SAME(b.op, a->op);
	SAME(b.id, a->id);
	SAME(b.stag, a->stag);
	SAME(b.to, a->to);
	SAME(b.data, a->data);
	SAME(b.data_mask, a->data_mask);
	SAME(b.compare, a->op == IWT_AOP_FETCH_ADD ? 0 : a->compare);
	SAME(b.compare_mask,
	     a->op == IWT_AOP_FETCH_ADD ? ~0ull : a->compare_mask);
}

static void check_segment(const struct iwt_fpdu *f, const struct sent *s,
			  u32 at)
{
	SAME(f->ddp.opcode, s->opcode);
	SAME(iwt_rdmap_check(&f->ddp, f->ulpdu_len), IWT_OK);
	if (f->ddp.tagged) {
		SAME(f->ddp.stag, s->stag);
		SAME(f->ddp.to, s->to + at);
		return;
	}
	SAME(f->ddp.msn, s->msn);
	SAME(f->ddp.mo, at);
	check_atomic(f->hdr + IWT_DDP_UNTAGGED_LEN, s);
	SAME(f->ddp.stag, iwt_rdmap_rule(s->opcode)->invalidates ? s->stag : 0);
}

/* Reads a message back; returns its length on the stream in octets. */
static u32 get_message(struct pieces_cursor *pc, u32 avail,
		       struct frame_rules *rules, const struct sent *s)
{
	struct iwt_fpdu_rules r = { rules->crc, rules->markers };
	u32 at = 0, len, err, taken = 0;
	struct pieces_cursor data;
	struct iwt_fpdu f;
	const u8 *p;

	do {
		SAME(iwt_fpdu_read(&pc->c, sizeof(*pc), avail - taken,
				   rules->pos, &r, &f, &err), IWT_FPDU_OK);
		SAME(f.size % 4, 0);
		check_segment(&f, s, at);
		data = *pc;
		MUST(iwt_fpdu_payload(&f, &data.c, &r));
		while ((p = iwt_fpdu_piece(&f, &data.c, ~0, &len))) {
			MUST(at + len <= s->len);
			MUST(!memcmp(p, payload + at, len));
			at += len;
		}
		MUST(iwt_cursor_skip(&pc->c, f.size));
		rules->pos += f.size;
		taken += f.size;
	} while (!f.ddp.last);
	SAME(at, s->len);
	return taken;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 bits = take(&in, 1), pos = take(&in, 4) & ~3u, at = 0, n = 0, i;
	struct frame_rules put = { pos, bits & 1, bits & 2 }, get = put;
	u32 cuts[PIECES_MAX - 1], step = 1 + take(&in, 2);
	struct pieces_cursor pc;
	struct sent sent[64];
	struct pieces p;

	if (!payload[1]) {
		for (i = 0; i < sizeof(payload); i++)
			payload[i] = i * 2654435761u >> 24;
	}
	while (in.left && n < ARRAY_SIZE(sent) && at < STREAM_MAX / 4)
		at += put_message(&in, &put, &sent[n++], at);
	for (i = 0; i < ARRAY_SIZE(cuts); i++)
		cuts[i] = (i + 1) * step;
	pieces_cut(&p, stream, at, cuts, ARRAY_SIZE(cuts));
	pc = pieces_start(&p);
	for (i = 0; i < n; i++)
		at -= get_message(&pc, at, &get, &sent[i]);
	SAME(at, 0);
	SAME(get.pos, put.pos);
	pieces_free(&p);
	return 0;
}
