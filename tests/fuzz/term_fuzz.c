// SPDX-License-Identifier: GPL-2.0
/* Reads arbitrary octets as a Terminate message, and writes a Terminate message for any error. */
#include <linux/unaligned.h>

#include "fuzz.h"
#include "rdmap.h"
#include "term.h"

static void check_parse(const u8 *data, size_t size)
{
	u8 *p = exact(data, size);
	struct iwt_term t;
	u32 err;

	memset(&t, 0xa5, sizeof(t));
	err = iwt_term_parse(p, size, &t);
	SAME(err, size < 4 ? IWT_ERR_OP_UNSPEC : IWT_OK);
	if (err) {
		MUST(!t.err && !t.has_len && !t.has_ddp && !t.has_rdmap);
	} else {
		SAME(IWT_ERR_LAYER(t.err), p[0] >> 4);
		SAME(IWT_ERR_CODE(t.err), p[1]);
		MUST(t.has_len || !t.seg_len);
		MUST(!t.has_ddp || p[2] & 0x40);
		MUST(!t.has_rdmap || (t.has_ddp && p[2] & 0x20));
		MUST(!t.has_ddp || size >= 6 + (t.ddp.tagged ? 14 : 18));
		MUST(!t.has_rdmap || size >= 6 + 18 + 28);
	}
	free(p);
}

static void check_build(struct input in)
{
	u32 err = 0x10000 | (take(&in, 2) & 0xffff);
	u16 seg_len = take(&in, 2);
	u32 hdr_len = in.left < IWT_MAX_ULPDU_HDR ? in.left : IWT_MAX_ULPDU_HDR;
	u8 *hdr = exact(in.p, hdr_len);
	u8 *out = malloc(IWT_TERM_MAX - IWT_DDP_UNTAGGED_LEN);
	u32 len = iwt_term_build(err, hdr, hdr_len, seg_len, out);
	bool told = IWT_ERR_LAYER(err) == 1 ||
		    (IWT_ERR_LAYER(err) == 0 && IWT_ERR_ETYPE(err));
	struct iwt_ddp d;
	struct iwt_term t;

	MUST(len >= 4 && len <= 52);
	SAME(iwt_term_parse(out, len, &t), IWT_OK);
	SAME(t.err, IWT_ERR_LAYER(err) == 2 ? err & ~0xf00 : err);
	SAME(t.has_len, told && hdr_len);
	SAME(t.seg_len, told && hdr_len ? seg_len : 0);
	SAME(t.has_ddp, told && hdr_len &&
	     hdr_len >= iwt_ddp_hdr_len(hdr[0]));
	MUST(!t.has_rdmap || (t.has_ddp && t.ddp.opcode == IWT_OP_READ_REQ &&
			      IWT_ERR_LAYER(err) == 0));
	if (t.has_ddp) {
		iwt_ddp_parse(hdr, &d);
		SAME(t.ddp.opcode, d.opcode);
		SAME(t.ddp.to, d.to);
		SAME(t.ddp.msn, d.msn);
		MUST(!memcmp(out + 6, hdr, iwt_ddp_hdr_len(hdr[0])));
	}
	if (t.has_rdmap)
		MUST(!memcmp(out + 24, hdr + 18, 28));
	free(hdr);
	free(out);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	check_parse(data, size);
	check_build((struct input){ data, size });
	return 0;
}
