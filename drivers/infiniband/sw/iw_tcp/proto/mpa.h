/* SPDX-License-Identifier: GPL-2.0 */
/* MPA startup frames and their negotiation (RFC 5044 7.1, RFC 6581). Pure functions. */
#ifndef IWT_MPA_H
#define IWT_MPA_H

#include "wire.h"

/* Contents of a Request or Reply, in host byte order. The letters are the names of the flags. */
struct iwt_mpa_frame {
	bool reply;
	bool markers;		/* M: the sender requests markers in the data that it receives */
	bool crc;		/* C */
	bool reject;		/* R, Reply only */
	bool large;		/* FPDUs need not fit in a segment */
	bool enhanced;		/* S with revision 2: p2p, rtr_*, ird and ord are valid */
	bool p2p;		/* A */
	bool rtr_send;		/* B */
	bool rtr_write;		/* C of the enhanced word */
	bool rtr_read;		/* D */
	u8 rev;
	u16 ird;		/* IWT_MPA_ENH_DEPTH: not negotiated; the same for ord */
	u16 ord;
	u16 pd_len;		/* length of ULP private data, without enhanced word */
	u16 pd_off;		/* offset of ULP private data in the frame */
};

enum iwt_mpa_verdict {
	IWT_MPA_OK,		/* complete and well formed */
	IWT_MPA_MORE,		/* valid so far, more octets are needed */
	IWT_MPA_BAD,		/* key or length is wrong: close the connection (error 2004) */
	IWT_MPA_BAD_REV,	/* well formed, but of an unsupported revision */
	IWT_MPA_UNFIT,		/* well formed, but this end can't accept it */
};

/* Kinds of ready-to-receive message (RFC 6581 9.2) */
enum iwt_mpa_rtr {
	IWT_RTR_NONE,
	IWT_RTR_WRITE,
	IWT_RTR_READ,
	IWT_RTR_SEND,
};

/* Capabilities and settings of one end, from the link and the ULP. */
struct iwt_mpa_wish {
	bool crc;		/* request CRC (the default) */
	bool markers;		/* request markers */
	bool p2p;		/* offer peer-to-peer mode */
	u8 max_rev;		/* 1 or 2 */
	u16 ird;		/* IRD and ORD: values of the ULP, limited by the device */
	u16 ord;
	u16 ird_max;		/* limit of the device for raising @ird to the responder's ORD */
	u16 pd_max;		/* maximum length of private data that the ULP can receive */
	bool crc_required;	/* refuse a peer that declines CRC */
	bool rdmac;		/* use version 0 with RDMAC peers */
	bool large;		/* offer FPDUs that need not fit in a segment */
};

/* The terms that both ends have negotiated. */
struct iwt_mpa_terms {
	bool crc;
	bool tx_markers;
	bool rx_markers;
	bool tx_large;		/* FPDUs need not fit in a segment */
	bool enhanced;
	bool rdmac;		/* DDP and RDMAP of version 0 */
	u16 ird;
	u16 ord;
	enum iwt_mpa_rtr rtr;	/* kind that the initiator sends; responder: probable kind */
	u32 err;		/* IWT_OK or IWT_ERR_MPA_IRD, IWT_ERR_MPA_RTR */
	bool rc;		/* direct connection: requests complete as those of InfiniBand */
	u32 rnr_ms;		/* with @rc: how long to wait for a receive; U32_MAX: for ever */
};

u32 iwt_mpa_need(const u8 *buf, u32 len);
enum iwt_mpa_verdict iwt_mpa_parse(const u8 *buf, u32 len, bool reply,
				   u8 max_rev, struct iwt_mpa_frame *f);
enum iwt_mpa_verdict iwt_mpa_admit(const struct iwt_mpa_wish *own, u8 max_rev,
				   const struct iwt_mpa_frame *f);
u32 iwt_mpa_build(const struct iwt_mpa_frame *f, const void *pd, u8 *buf);
void iwt_mpa_request(const struct iwt_mpa_wish *own, struct iwt_mpa_frame *req);
void iwt_mpa_answer(const struct iwt_mpa_wish *own,
		    const struct iwt_mpa_frame *req,
		    struct iwt_mpa_frame *rep, struct iwt_mpa_terms *terms);
void iwt_mpa_refuse(const struct iwt_mpa_wish *own,
		    const struct iwt_mpa_frame *req, struct iwt_mpa_frame *rep);
void iwt_mpa_conclude(const struct iwt_mpa_wish *own,
		      const struct iwt_mpa_frame *req,
		      const struct iwt_mpa_frame *rep,
		      struct iwt_mpa_terms *terms);
u32 iwt_mulpdu(u32 emss, bool markers);

#endif
