/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All wire formats and constants of MPA (RFC 5044, 6581), DDP (RFC 5041) and RDMAP (RFC 5040,
 * 7306). No other file defines a wire format or a constant of these protocols.
 */
#ifndef IWT_WIRE_H
#define IWT_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* MPA startup frames, RFC 5044 7.1.1 */
#define IWT_MPA_KEY_LEN		16
#define IWT_MPA_KEY_REQ		"MPA ID Req Frame"
#define IWT_MPA_KEY_REP		"MPA ID Rep Frame"
#define IWT_MPA_HDR_LEN		20
#define IWT_MPA_MAX_PD		512
#define IWT_MPA_MAX_FRAME	(IWT_MPA_HDR_LEN + IWT_MPA_MAX_PD)
#define IWT_MPA_ENH_LEN		4
#define IWT_MPA_F_MARKERS	0x80
#define IWT_MPA_F_CRC		0x40
#define IWT_MPA_F_REJECT	0x20
#define IWT_MPA_F_ENHANCED	0x10
/*
 * A reserved bit, which siw also uses. A sender that sets the bit in its startup frame accepts
 * FPDUs that do not fit in a segment.
 */
#define IWT_MPA_F_LARGE		0x08

struct iwt_mpa_hdr {
	u8 key[IWT_MPA_KEY_LEN];
	u8 flags;
	u8 rev;
	__be16 pd_len;
} __packed;
static_assert(sizeof(struct iwt_mpa_hdr) == IWT_MPA_HDR_LEN);

/* Enhanced word, RFC 6581 6: two halves, each with two flags and 14 bits of IRD or ORD */
#define IWT_MPA_ENH_P2P		0x8000	/* A, first half */
#define IWT_MPA_ENH_RTR_SEND	0x4000	/* B, first half */
#define IWT_MPA_ENH_RTR_WRITE	0x8000	/* C, second half */
#define IWT_MPA_ENH_RTR_READ	0x4000	/* D, second half */
#define IWT_MPA_ENH_DEPTH	0x3fff	/* mask of IRD and ORD; as a value: not negotiated */

struct iwt_mpa_enh {
	__be16 ird;
	__be16 ord;
} __packed;
static_assert(sizeof(struct iwt_mpa_enh) == IWT_MPA_ENH_LEN);

/* FPDU, RFC 5044 4 */
#define IWT_FPDU_LEN_LEN	2
#define IWT_FPDU_CRC_LEN	4
#define IWT_MARKER_LEN		4
#define IWT_MARKER_SPACING	512
#define IWT_MARKER_STRIDE	(IWT_MARKER_SPACING - IWT_MARKER_LEN)	/* between markers */
#define IWT_MULPDU_MIN		128
#define IWT_MULPDU_MAX		64768

/* DDP, RFC 5041 4 */
#define IWT_DDP_TAGGED		0x80
#define IWT_DDP_LAST		0x40
#define IWT_DDP_DV_MASK		0x03
#define IWT_DDP_VERSION		1
#define IWT_DDP_VERSION_RDMAC	0	/* RFC 5044 C.1; same for RDMAP */
#define IWT_DDP_TAGGED_LEN	14
#define IWT_DDP_UNTAGGED_LEN	18

struct iwt_ddp_tagged {
	u8 ctrl;
	u8 rdmap;
	__be32 stag;
	__be64 to;
} __packed;
static_assert(sizeof(struct iwt_ddp_tagged) == IWT_DDP_TAGGED_LEN);

struct iwt_ddp_untagged {
	u8 ctrl;
	u8 rdmap;
	__be32 inval_stag;
	__be32 qn;
	__be32 msn;
	__be32 mo;
} __packed;
static_assert(sizeof(struct iwt_ddp_untagged) == IWT_DDP_UNTAGGED_LEN);

enum iwt_ddp_qn {
	IWT_QN_SEND	= 0,
	IWT_QN_READ_REQ	= 1,
	IWT_QN_TERM	= 2,
	IWT_QN_ATOMIC	= 3,	/* Atomic Responses only: iwt_ddp_check_untagged() */
	IWT_QN_COUNT
};

/* RDMAP, RFC 5040 4 */
#define IWT_RDMAP_RV_MASK	0xc0
#define IWT_RDMAP_RV		0x40
#define IWT_RDMAP_OP_MASK	0x0f

enum iwt_rdmap_op {
	IWT_OP_WRITE		= 0x0,
	IWT_OP_READ_REQ		= 0x1,
	IWT_OP_READ_RESP	= 0x2,
	IWT_OP_SEND		= 0x3,
	IWT_OP_SEND_INV		= 0x4,
	IWT_OP_SEND_SE		= 0x5,
	IWT_OP_SEND_SE_INV	= 0x6,
	IWT_OP_TERM		= 0x7,
	IWT_OP_IMM		= 0x8,	/* RFC 7306 */
	IWT_OP_IMM_SE		= 0x9,
	IWT_OP_ATOMIC_REQ	= 0xa,
	IWT_OP_ATOMIC_RESP	= 0xb,
};

struct iwt_read_req {
	__be32 sink_stag;
	__be64 sink_to;
	__be32 size;
	__be32 src_stag;
	__be64 src_to;
} __packed;
static_assert(sizeof(struct iwt_read_req) == 28);

struct iwt_term_hdr {
	u8 layer_etype;
	u8 code;
	u8 ctrl;
	u8 reserved;
} __packed;
static_assert(sizeof(struct iwt_term_hdr) == 4);

#define IWT_TERM_M		0x80
#define IWT_TERM_D		0x40
#define IWT_TERM_R		0x20

/* RFC 7306 */
struct iwt_imm {
	__be32 data;	/* the immediate data of the verbs */
	__be32 rest;
} __packed;
static_assert(sizeof(struct iwt_imm) == 8);

enum iwt_aopcode {
	IWT_AOP_FETCH_ADD	= 0,
	IWT_AOP_CMP_SWAP	= 2,
};

#define IWT_AOP_MASK		0x0f
#define IWT_ATOMIC_LEN		8	/* octets of memory that an operation accesses */

struct iwt_atomic_req {
	__be32 aopcode;
	__be32 id;
	__be32 stag;
	__be64 to;
	__be64 data;
	__be64 data_mask;
	__be64 compare;
	__be64 compare_mask;
} __packed;
static_assert(sizeof(struct iwt_atomic_req) == 52);

struct iwt_atomic_resp {
	__be32 id;
	__be64 value;
} __packed;
static_assert(sizeof(struct iwt_atomic_resp) == 12);

/* Maximum length of the DDP header and the RDMAP header together: that of an Atomic Request. */
#define IWT_MAX_ULPDU_HDR	(IWT_DDP_UNTAGGED_LEN + 52)

/*
 * An error as encoded in a Terminate: layer, error type, code. 0 means "no error"; because layer,
 * type and code may all be 0 (IWT_ERR_LOCAL), bit 16 is set in every error.
 */
#define IWT_ERR(layer, etype, code) \
	(0x10000u | (layer) << 12 | (etype) << 8 | (code))
#define IWT_ERR_LAYER(e)	((e) >> 12 & 0xf)
#define IWT_ERR_ETYPE(e)	((e) >> 8 & 0xf)
#define IWT_ERR_CODE(e)		((e) & 0xff)

enum iwt_err {
	IWT_OK			= 0,
	/* RDMAP, RFC 5040 4.8 */
	IWT_ERR_LOCAL		= IWT_ERR(0, 0, 0x00),
	IWT_ERR_PROT_STAG	= IWT_ERR(0, 1, 0x00),
	IWT_ERR_PROT_BOUNDS	= IWT_ERR(0, 1, 0x01),
	IWT_ERR_PROT_ACCESS	= IWT_ERR(0, 1, 0x02),
	IWT_ERR_PROT_ASSOC	= IWT_ERR(0, 1, 0x03),
	IWT_ERR_PROT_WRAP	= IWT_ERR(0, 1, 0x04),
	IWT_ERR_PROT_INVAL	= IWT_ERR(0, 1, 0x09),
	IWT_ERR_OP_VERSION	= IWT_ERR(0, 2, 0x05),
	IWT_ERR_OP_OPCODE	= IWT_ERR(0, 2, 0x06),
	IWT_ERR_OP_STREAM	= IWT_ERR(0, 2, 0x07),
	IWT_ERR_OP_INVAL	= IWT_ERR(0, 2, 0x09),
	IWT_ERR_OP_UNSPEC	= IWT_ERR(0, 2, 0xff),
	/* DDP, RFC 5041 7.2 */
	IWT_ERR_DDP_LOCAL	= IWT_ERR(1, 0, 0x00),
	IWT_ERR_TAG_STAG	= IWT_ERR(1, 1, 0x00),
	IWT_ERR_TAG_BOUNDS	= IWT_ERR(1, 1, 0x01),
	IWT_ERR_TAG_ASSOC	= IWT_ERR(1, 1, 0x02),
	IWT_ERR_TAG_WRAP	= IWT_ERR(1, 1, 0x03),
	IWT_ERR_TAG_VERSION	= IWT_ERR(1, 1, 0x04),
	IWT_ERR_UNT_QN		= IWT_ERR(1, 2, 0x01),
	IWT_ERR_UNT_NOBUF	= IWT_ERR(1, 2, 0x02),
	IWT_ERR_UNT_MSN		= IWT_ERR(1, 2, 0x03),
	IWT_ERR_UNT_MO		= IWT_ERR(1, 2, 0x04),
	IWT_ERR_UNT_LONG	= IWT_ERR(1, 2, 0x05),
	IWT_ERR_UNT_VERSION	= IWT_ERR(1, 2, 0x06),
	/* MPA, RFC 5044 8 and RFC 6581 8 */
	IWT_ERR_MPA_CLOSED	= IWT_ERR(2, 0, 0x01),
	IWT_ERR_MPA_CRC		= IWT_ERR(2, 0, 0x02),
	IWT_ERR_MPA_MARKER	= IWT_ERR(2, 0, 0x03),
	IWT_ERR_MPA_FRAME	= IWT_ERR(2, 0, 0x04),
	IWT_ERR_MPA_LOCAL	= IWT_ERR(2, 0, 0x05),
	IWT_ERR_MPA_IRD		= IWT_ERR(2, 0, 0x06),
	IWT_ERR_MPA_RTR		= IWT_ERR(2, 0, 0x07),
};

#endif
