/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive engine: whole FPDUs are taken off the socket's queue, checked
 * completely, and only then placed and delivered.
 */
#ifndef IWT_RX_H
#define IWT_RX_H

#include "proto/fpdu.h"
#include "proto/mpa.h"
#include "mr.h"
#include "rq.h"
#include "sgl.h"

struct iwt_qp;

enum iwt_rx_result {
	IWT_RX_OK,
	IWT_RX_ERROR,		/* rx->err; rx->bad is the offending FPDU */
	IWT_RX_TERMINATED,	/* rx->term_err: the peer ended the stream */
};

/* What a Terminate says of the FPDU that was wrong. */
struct iwt_rx_bad {
	u16 ulpdu_len;
	u16 hdr_len;
	u8 hdr[IWT_MAX_ULPDU_HDR];
};

/**
 * struct iwt_rx - receive engine; guarded by qp->lock
 * @rules: what was negotiated
 * @pos: octets of the stream consumed, for markers
 * @dead: the stream has ended: whatever arrives is thrown away
 * @more: the last run used up its budget: the end of the stream is not to be judged yet
 * @eof: the peer has closed its direction
 * @rtr_send: the first FPDU may be a Send that is the ready-to-receive message
 * @rtr_write: the first FPDU may be a Write that is that
 * @recv_open: a Send is being received into @recv
 * @after_write: the peer's last message but for its responses was a Write
 * @write_len: octets of the Write that has ended or is under way
 * @q: untagged queues
 * @recv: the receive queue's private copy of its buffer list
 * @recv_pos: place in it
 * @hold: region that the last FPDU of the run went to
 * @err: after IWT_RX_ERROR
 * @bad: FPDU that was wrong
 * @term_err: after IWT_RX_TERMINATED, what the peer says
 */
struct iwt_rx {
	struct iwt_fpdu_rules rules;
	u32 pos;
	bool dead;
	bool more;
	bool eof;
	bool rtr_send;
	bool rtr_write;
	bool recv_open;
	bool after_write;
	u32 write_len;
	struct iwt_ddp_rxq q[IWT_QN_COUNT];
	struct iwt_rwqe *recv;
	struct iwt_sgl_pos recv_pos;
	struct iwt_hold hold;
	u32 err;
	struct iwt_rx_bad bad;
	u32 term_err;
};

void iwt_rx_start(struct iwt_rx *rx, const struct iwt_mpa_terms *terms,
		  bool initiator);
enum iwt_rx_result iwt_rx_run(struct iwt_qp *qp);
bool iwt_rx_flush(struct iwt_qp *qp, u32 max);

#endif
