/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RDMAP Stream (RFC 5040 1.3): what the two engines run on. It is a part of the queue pair,
 * which the engines do not know: they see its queues, its socket and its rights, and report by
 * their return values.
 *
 * All of it is guarded by iwt_stream.lock where nothing else is said. The engines run with the
 * socket lock held as well, so one of them runs at a time.
 */
#ifndef IWT_STREAM_H
#define IWT_STREAM_H

#include <linux/bvec.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "conf.h"
#include "mr.h"
#include "mr_sgl.h"
#include "proto/fpdu.h"
#include "proto/mpa.h"
#include "proto/term.h"
#include "proto/txseg.h"
#include "readq.h"
#include "rq.h"
#include "sq.h"
#include "stats.h"
#include "wake_habit.h"

struct ib_qp;
struct iwt_dev;
struct iwt_sock;
struct iwt_txbuf;
struct iwt_zc_batch;
struct page;

/* Pieces of pages that a batch may lie in. */
#define IWT_TX_CHUNKS		16

/* The message that is being framed. */
enum iwt_tx_what {
	IWT_TX_NOTHING,
	IWT_TX_WQE,
	IWT_TX_RESPONSE,
	IWT_TX_RTR,
	IWT_TX_TERM,
};

/* How far the Terminate is. */
enum iwt_tx_term {
	IWT_TX_TERM_NONE,
	IWT_TX_TERM_PENDING,
	IWT_TX_TERM_FRAMED,
	IWT_TX_TERM_SENT,
};

/**
 * struct iwt_tx - the transmit engine's state
 * @crc: CRC32c is in use
 * @markers: the peer wants markers
 * @large: FPDUs need not fit in a segment
 * @near: this batch is for a receiver that seems to be on this machine
 * @rdmac: the peer is an RDMAC one: version 0 of DDP and RDMAP
 * @mpa_rev: revision of MPA that both ends speak
 * @wait_first_fpdu: responder before the first FPDU of the initiator (RFC 5044 7.1.2)
 * @loaded: @wqe is taken from the ring and not begun
 * @dry: the batch ended for want of messages
 * @lost: TCP has refused octets for good
 * @src_checked: access to all that is left of the element of the list, or of the Read Response,
 *	was checked, and its region is held
 * @ended: the last octets of a work request are framed and TCP has not taken all of them
 * @zerocopy: whether TCP may refer to payload where it is
 * @rtr: ready-to-receive message that is still to be sent
 * @term: how far the Terminate is
 * @what: message being framed
 * @responses: Responses since the last work request
 * @send_msn: MSN of the next Send
 * @read_msn: MSN of the next Read or Atomic Request
 * @resp_msn: MSN of the request being answered
 * @atomic_msn: MSN of the next Atomic Response
 * @msg: segmentation of the message
 * @pos: place in the message's source; of a Read Response only the octets
 * @src: octets at this place, valid as long as their region is held
 * @src_len: how many, 0 when nothing is known of them
 * @src_hold: their region
 * @wqe: the send queue's private copy of the work request
 * @idx: its index
 * @unsent: with @ended, the index of the first such work request
 * @resp: request being answered
 * @n_chunks: pieces that are framed and that TCP has not taken
 * @bytes: octets in them
 * @octets: octets that TCP has taken since the connection began
 * @blocked: how often it could not take all
 * @fpdus: FPDUs framed for this batch
 * @segs: segments begun with them
 * @room: octets left in the segment under construction, or, where FPDUs may be longer than
 *	a segment, in the batch; 0 when none is under construction
 * @mss: size of segments that @batch_segs is for
 * @batch_segs: segments of the largest batch
 * @stream_pos: position of the next octet in the stream, modulo 2^32, for markers
 * @buf: memory being framed in, or NULL
 * @bufs: how many large ones the batch has
 * @chunk: the pieces; each page has a reference
 * @ends: bits of the pieces behind which a segment ends, though it is not full
 * @zcb: batch that is framed by reference and that TCP has not taken, or NULL; there is
 *	either this or the pieces
 * @err: why the stream can't go on, or IWT_OK
 * @term_len: octets of @term_ulpdu
 * @term_ulpdu: Terminate behind its DDP header
 */
struct iwt_tx {
	bool crc;
	bool markers;
	bool large;
	bool near;
	bool rdmac;
	u8 mpa_rev;
	bool wait_first_fpdu;
	bool loaded;
	bool dry;
	bool lost;
	bool src_checked;
	bool ended;
	enum iwt_zerocopy zerocopy;
	enum iwt_mpa_rtr rtr;
	enum iwt_tx_term term;
	enum iwt_tx_what what;
	u32 responses;
	u32 send_msn;
	u32 read_msn;
	u32 resp_msn;
	u32 atomic_msn;
	struct iwt_txseg msg;
	struct iwt_sgl_pos pos;
	u8 *src;
	u32 src_len;
	struct iwt_hold src_hold;
	struct iwt_swqe *wqe;
	u32 idx;
	u32 unsent;
	struct iwt_read_in resp;
	u32 n_chunks;
	u32 bytes;
	u64 octets;
	u64 blocked;
	u32 fpdus;
	u32 segs;
	u32 room;
	u32 mss;
	u32 batch_segs;
	u32 stream_pos;
	struct iwt_txbuf *buf;
	u32 bufs;
	struct bio_vec chunk[IWT_TX_CHUNKS];
	u32 ends;
	struct iwt_zc_batch *zcb;
	u32 err;
	u32 term_len;
	u8 term_ulpdu[IWT_TERM_MAX];
};

/* What a Terminate says of the FPDU that was wrong. */
struct iwt_rx_bad {
	u16 ulpdu_len;
	u16 hdr_len;
	u8 hdr[IWT_MAX_ULPDU_HDR];
};

/**
 * struct iwt_rx - the receive engine's state
 * @rules: what was negotiated
 * @pos: octets of the stream consumed, for markers
 * @octets: octets of FPDUs since the connection began
 * @discard: the stream has ended: octets that arrive are thrown away
 * @budget_used: the last run used up its budget: the end of the stream is not to be judged yet
 * @wait_page: the last run ended at an FPDU whose memory has to come first: as for
 *	@budget_used
 * @eof: the peer has closed its direction
 * @rtr_send: the first FPDU may be a Send that is the ready-to-receive message
 * @rtr_write: the first FPDU may be a Write that is that message
 * @recv_open: a Send is being received into @recv
 * @after_write: the peer's last message, Responses aside, was a Write
 * @write_len: octets of the Write that has ended or is under way
 * @q: untagged queues
 * @recv: the receive queue's private copy of its buffer list
 * @recv_pos: place in it
 * @hold: region that the last FPDU of the run went to
 * @err: why the stream has to end, or IWT_OK
 * @bad: FPDU that was wrong
 * @term_err: what the peer's Terminate says
 */
struct iwt_rx {
	struct iwt_fpdu_rules rules;
	u32 pos;
	u64 octets;
	bool discard;
	bool budget_used;
	bool wait_page;
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

/**
 * struct iwt_reply_spin - a bounded spin for the process's reply (wake_reply.c)
 * @habit: replies by doorbell, one after the other, make the engine spin; a guess, as is the next
 * @poster: processor of the last doorbell, nr_cpu_ids if there was none
 * @credit: how far spinning has paid; guarded by the lock of the stream, as is the rest
 * @on: something was received that may be replied to
 * @rx_pos: octets received before that
 * @cons: next work request to start, then
 */
struct iwt_reply_spin {
	struct iwt_habit habit;
	u32 poster;
	u32 credit;
	bool on;
	u32 rx_pos;
	u32 cons;
};

/**
 * struct iwt_stream - what the engines run on
 * @lock: guards all that follows where nothing else is said; BH off, inside the socket lock
 *	where both are held
 * @dev: device
 * @ibqp: queue pair, as completions and tracepoints name it
 * @stats: the counters that it counts in: those of @dev, or of its own counter; stats_qp.c
 *	changes it
 * @actor: in whose name local memory is accessed
 * @sends: work is sent in the queue pair's state; written by qp.c, read in any context
 * @pollers: how many poll the send queue, so that a process need not ring; see wake.h
 * @takes_imm: the consumer knows completions with immediate data
 * @rights: remote rights that the queue pair grants (enum iwt_rights)
 * @sock: socket while connected; also read under RCU
 * @sq: send queue
 * @rq: receive queue
 * @receiver: in whose name receives are filled
 * @readq: outstanding Reads and atomic operations of both directions
 * @tx: transmit engine
 * @rx: receive engine
 * @spin: how the engines wait for a reply
 * @windows: memory windows for this stream alone (mw.c)
 */
struct iwt_stream {
	spinlock_t lock;
	struct iwt_dev *dev;
	struct ib_qp *ibqp;
	struct iwt_stats __percpu *stats __guarded_by(&lock);
	struct iwt_actor actor;
	bool sends;
	u8 pollers __guarded_by(&lock);
	bool takes_imm __guarded_by(&lock);
	u32 rights __guarded_by(&lock);
	struct iwt_sock *sock;
	struct iwt_sq sq;
	struct iwt_rq rq;
	struct iwt_actor receiver;
	struct iwt_readq readq __guarded_by(&lock);
	struct iwt_tx tx __guarded_by(&lock);
	struct iwt_rx rx __guarded_by(&lock);
	struct iwt_reply_spin spin;
	struct list_head windows;
};

/* Is work that was posted, or that the peer asked for, still sent? Any context. */
static inline bool iwt_stream_sends(const struct iwt_stream *st)
{
	return READ_ONCE(st->sends);
}

/* Has something arrived that the receive engine has not looked at? The lock is held. */
static inline bool iwt_stream_unread(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	return st->rx.budget_used || st->rx.wait_page;
}

/* Does the engine look at what a process posts from now on? The lock is held. */
static inline bool iwt_stream_open(const struct iwt_stream *st)
{
	return iwt_stream_sends(st) && !st->sq.sealed;
}

/* Add @n to a counter of the stream (up to %IWT_STREAM_COUNTERS). */
static inline void iwt_stream_count_add(struct iwt_stream *st, enum iwt_counter c, u64 n)
	__must_hold(&st->lock)
{
	iwt_stats_add(st->stats, c, n);
}

static inline void iwt_stream_count(struct iwt_stream *st, enum iwt_counter c)
	__must_hold(&st->lock)
{
	iwt_stats_add(st->stats, c, 1);
}

void iwt_stream_begin(struct iwt_stream *st)
	__must_hold(&st->lock);
void iwt_stream_retire(struct iwt_stream *st)
	__must_hold(&st->lock);

#endif
