/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RDMAP Stream (RFC 5040 2.4): the part of a queue pair that the two engines use. The engines
 * do not access the queue pair: they use the stream's queues, socket and rights, and report
 * results by their return values.
 *
 * iwt_stream.lock guards every field that changes, unless the description of the field names
 * another rule. The engines also hold the socket lock, so only one engine runs at a time.
 */
#ifndef IWT_STREAM_H
#define IWT_STREAM_H

#include <linux/bvec.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
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
#include "srq.h"
#include "stats.h"
#include "wake_habit.h"

struct ib_qp;
struct iwt_ahead;
struct iwt_dev;
struct iwt_sock;
struct iwt_txbuf;
struct iwt_zc_batch;
struct page;

/* Maximum number of pieces of pages of a batch. */
#define IWT_TX_CHUNKS		16

/* The message that is being framed. */
enum iwt_tx_what {
	IWT_TX_NOTHING,
	IWT_TX_WQE,		/* message of a work request */
	IWT_TX_RESPONSE,	/* Response to a Read or atomic operation of the peer */
	IWT_TX_RTR,		/* ready-to-receive message (RFC 6581) */
	IWT_TX_CONFIRM,		/* Read of no bytes that requests a confirmation (tx_confirm.c) */
	IWT_TX_TERM,		/* Terminate */
};

/* Progress of the Terminate. */
enum iwt_tx_term {
	IWT_TX_TERM_NONE,	/* no Terminate is to be sent */
	IWT_TX_TERM_PENDING,	/* not framed yet */
	IWT_TX_TERM_FRAMED,	/* framed, but TCP has not accepted all bytes */
	IWT_TX_TERM_SENT,	/* TCP has accepted all bytes */
};

/**
 * struct iwt_tx - the transmit engine's state
 * @crc: CRC32c is in use
 * @markers: the peer has requested markers
 * @large: FPDUs may be longer than a segment
 * @near: the receiver of this batch seems to be on this machine
 * @rdmac: the peer follows the RDMA Consortium: version 0 of DDP and RDMAP
 * @mpa_rev: revision of MPA that both ends use
 * @wait_first_fpdu: this end is the responder, and must not send before it has received the first
 *	FPDU of the initiator (RFC 5044 7.1.2)
 * @loaded: @wqe was taken from the ring, and its message has not begun
 * @dry: the batch ended because there was no other message to send
 * @locals: number of requests without a message that were executed for the batch
 * @lost: TCP will accept no more bytes
 * @src_checked: the access to the rest of the current list element, or of the Read Response, was
 *	checked, and the region is held in @src_hold
 * @ended: the last bytes of one or more work requests are framed, and TCP has not accepted all
 *	framed bytes
 * @zerocopy: when TCP may refer to payload in the consumer's memory: the link's setting; with CRC
 *	or markers IWT_ZEROCOPY_OFF
 * @rtr: ready-to-receive message that is still to be sent
 * @confirm_due: with iwt_sq.confirm: index after the last request that needs a confirmation
 * @confirm_asked: a Read or atomic operation of this end, outstanding or answered, confirms all
 *	requests before this index
 * @term: progress of the Terminate
 * @what: kind of the message being framed
 * @responses: number of Responses begun since the last work request
 * @send_msn: MSN of the next Send
 * @read_msn: MSN of the next Read or Atomic Request
 * @resp_msn: MSN of the request being answered
 * @atomic_msn: MSN of the next Atomic Response
 * @msg: segmentation of the message
 * @pos: position in the message's source; for a Read Response only the byte offset
 * @src: address of the bytes at @pos, valid as long as their region is held
 * @src_len: number of bytes at @src, 0 when @src is not known
 * @src_hold: region of the bytes at @src
 * @wqe: the send queue's private copy of the work request
 * @idx: index of the work request in @wqe
 * @unsent: with @ended: index of the first work request that TCP has perhaps not accepted
 *	completely
 * @resp: request of the peer that is being answered
 * @n_chunks: number of pieces that are framed and that TCP has not accepted
 * @bytes: number of bytes in these pieces
 * @octets: number of bytes that TCP has accepted since the connection began
 * @blocked: number of times that TCP did not accept all bytes of a batch
 * @fpdus: number of FPDUs framed for this batch
 * @segs: number of segments that begin with one of these FPDUs
 * @room: number of bytes left in the segment under construction; with @large, number of bytes
 *	left in the batch; 0 when no segment is under construction
 * @mss: segment size for which @batch_segs was computed
 * @batch_segs: number of segments of the largest batch
 * @stream_pos: position of the next octet in the stream, modulo 2^32, for markers
 * @buf: memory into which FPDUs are framed, or NULL
 * @bufs: number of large buffers of the batch
 * @chunk: the pieces; the engine holds a reference to the page of each piece
 * @ends: bit i is set if a segment must end after piece i, even if the segment is not full
 * @zcb: zero copy batch that TCP has not accepted completely, or NULL; if set, @n_chunks is 0
 * @err: error that ends the stream, or IWT_OK
 * @term_len: number of bytes in @term_ulpdu
 * @term_ulpdu: Terminate, without its DDP header
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
	u32 locals;
	bool lost;
	bool src_checked;
	bool ended;
	enum iwt_zerocopy zerocopy;
	enum iwt_mpa_rtr rtr;
	u32 confirm_due;
	u32 confirm_asked;
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

/* Length and headers of the erroneous FPDU, which the Terminate quotes. */
struct iwt_rx_bad {
	u16 ulpdu_len;
	u16 hdr_len;
	u8 hdr[IWT_MAX_ULPDU_HDR];
};

/**
 * struct iwt_rx - the receive engine's state
 * @rules: negotiated parameters of received FPDUs
 * @pos: octets of the stream consumed, for markers
 * @octets: number of bytes in the FPDUs received since the connection began
 * @discard: the stream has ended: bytes that arrive are discarded
 * @budget_used: the last run used up its budget, and bytes may be left: the end of the stream
 *	must not be handled yet
 * @stalled: the last run stopped at an FPDU that waits for absent memory, or for a receive; the
 *	end of the stream must not be handled yet
 * @wait_recv: with @stalled: the FPDU waits for a receive
 * @wait_over: the FPDU has waited for a receive for the time @rnr_ms
 * @wait_until: end of the time @rnr_ms, in nanoseconds; valid with @wait_recv if @rnr_ms is not
 *	U32_MAX
 * @ahead: number of bytes after @pos at which iwt_rx_look_ahead() has looked; U32_MAX after a bad
 *	FPDU
 * @ahead_more: iwt_rx_look_ahead() has not yet looked at all bytes that had arrived
 * @ahead_n: number of Responses in these bytes to requests that have not finished
 * @answered: number of Responses that are still to be received, although their requests have
 *	already finished
 * @place: FPDUs that were placed behind a gap (rx_place.c); NULL if all are placed in order
 * @place_stop: no FPDU may be placed behind a gap any more
 * @rnr_ms: how long a message waits for a receive, in milliseconds; U32_MAX: for ever; 0: a
 *	message without a receive ends the stream
 * @eof: the engine has reached the peer's FIN
 * @rtr_send: the first FPDU may be a Send that is the ready-to-receive message
 * @rtr_write: the first FPDU may be a Write that is the ready-to-receive message
 * @recv_open: a Send is being received into @recv
 * @after_write: the peer's last message, not counting Responses, was a Write
 * @write_len: bytes received of the current or last Write
 * @q: untagged queues
 * @recv: the receive queue's private copy of a receive work request with its scatter list
 * @recv_pos: position in the scatter list of @recv
 * @hold: region in which the last FPDU of the run was placed
 * @err: error that ends the stream, or IWT_OK
 * @bad: erroneous FPDU
 * @term_err: error code of the peer's Terminate
 */
struct iwt_rx {
	struct iwt_fpdu_rules rules;
	u32 pos;
	u64 octets;
	bool discard;
	bool budget_used;
	bool stalled;
	bool wait_recv;
	bool wait_over;
	bool eof;
	bool rtr_send;
	bool rtr_write;
	bool recv_open;
	bool after_write;
	bool ahead_more;
	u32 write_len;
	u32 ahead;
	u16 ahead_n;
	u32 answered;
	struct iwt_ahead *place;
	bool place_stop;
	u32 rnr_ms;
	u64 wait_until;
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
 * @habit: several replies in a row, each by a doorbell, make the engine spin; no lock guards
 *	@habit and @poster, so their values may be inexact
 * @poster: processor of the last doorbell, nr_cpu_ids if there was none
 * @credit: the engine spins only while the credit is not 0: a spin that finds a reply adds 1, a
 *	spin that fails subtracts IWT_SPIN_MISS. The lock of the stream guards @credit and the
 *	fields below
 * @on: this run may spin
 * @rx_pos: value of iwt_rx.pos when the run began
 * @cons: value of iwt_sq.cons when the run began
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
 * struct iwt_recv_wait - how a stream that waits for a receive is woken (rx_wait.c)
 * @srq: entry in the list of a shared receive queue
 * @timer: runs the engines when a message has waited for the time iwt_rx.rnr_ms
 */
struct iwt_recv_wait {
	struct iwt_srq_waiter srq;
	struct hrtimer timer;
};

/**
 * struct iwt_stream - an RDMAP Stream
 * @lock: guards every field below that changes, unless the description of the field names another
 *	rule; BH off; inside the socket lock if both are held
 * @dev: device
 * @ibqp: queue pair, for completions and tracepoints
 * @stats: counters of the stream: the counters of @dev, or of the rdma_counter to which the queue
 *	pair is bound; stats_qp.c changes the pointer
 * @actor: PD and stream for which local memory is accessed
 * @sends: the state of the queue pair allows sending work requests and Responses; written by
 *	qp.c, read in any context
 * @pollers: number of pollers of the send queue (wake.h); if not 0, a process need not ring the
 *	doorbell
 * @takes_imm: the consumer supports completions with immediate data
 * @rights: remote rights that the queue pair grants (enum iwt_rights)
 * @sock: socket, NULL if the stream is not connected; also read under RCU
 * @sq: send queue
 * @rq: receive queue
 * @receiver: PD and stream for which the memory of receives is accessed
 * @readq: outstanding Reads and atomic operations of both directions
 * @tx: transmit engine
 * @rx: receive engine
 * @spin: state of the spin for a reply
 * @recv_wait: wake-up of a message that waits for a receive
 * @windows: memory windows of type 2 that this stream has bound (mw.c); guarded by
 *	iwt_dev.windows_lock
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
	struct iwt_recv_wait recv_wait;
	struct list_head windows;
};

/* Does the stream still send posted requests and Responses to the peer? Any context. */
static inline bool iwt_stream_sends(const struct iwt_stream *st)
{
	return READ_ONCE(st->sends);
}

/*
 * May the socket have bytes that a later run of the receive engine can process? A message that
 * waits for a receive does not count: if the connection is lost, this message is lost, too,
 * because the peer got no confirmation of the message, and the consumer may post a receive very
 * late. st->lock is held.
 */
static inline bool iwt_stream_unread(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	return st->rx.budget_used || (st->rx.stalled && !st->rx.wait_recv);
}

/* Will the engine start requests that a process posts from now on? st->lock is held. */
static inline bool iwt_stream_open(const struct iwt_stream *st)
{
	return iwt_stream_sends(st) && !st->sq.sealed;
}

/* Add @n to the counter @c of the stream; @c is less than %IWT_STREAM_COUNTERS. */
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
u32 iwt_stream_unsent(const struct iwt_stream *st)
	__must_hold(&st->lock);
void iwt_stream_retire(struct iwt_stream *st)
	__must_hold(&st->lock);

#endif
