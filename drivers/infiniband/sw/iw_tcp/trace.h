/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints for every connection, change of state and error, and, for a closer look, for every
 * FPDU and work request. Documentation/tracing.rst has recipes.
 *
 * "dev" is the index of the device, as `rdma dev` shows the index, and "ep" is the number of an
 * endpoint. "err" is 0, or an IWT_ERR() of proto/wire.h. An IWT_ERR() has five hexadecimal
 * digits: a 1, the layer, the type, and two digits of the code.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_tcp

#if !defined(IWT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define IWT_TRACE_H

#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/tracepoint.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_tcp-abi.h>

#include "proto/cmfsm.h"
#include "proto/fpdu.h"
#include "proto/mpa.h"
#include "proto/qpfsm.h"
#include "trace_names.h"

#undef IWT_N
#undef IWT_L
#define IWT_N(number, name)	TRACE_DEFINE_ENUM(number);
#define IWT_L(number, name)	TRACE_DEFINE_ENUM(number);

IWT_NAMES_QP_STATE
IWT_NAMES_QP_EVENT
IWT_NAMES_CM_STATE
IWT_NAMES_CM_EVENT
IWT_NAMES_RDMAP
IWT_NAMES_WR

#undef IWT_N
#undef IWT_L
#define IWT_N(number, name)	{ number, name },
#define IWT_L(number, name)	{ number, name }

#define iwt_show_qp_state(n)	__print_symbolic(n, IWT_NAMES_QP_STATE)
#define iwt_show_qp_event(n)	__print_symbolic(n, IWT_NAMES_QP_EVENT)
#define iwt_show_cm_state(n)	__print_symbolic(n, IWT_NAMES_CM_STATE)
#define iwt_show_cm_event(n)	__print_symbolic(n, IWT_NAMES_CM_EVENT)
#define iwt_show_rdmap(n)	__print_symbolic(n, IWT_NAMES_RDMAP)
#define iwt_show_wr(n)		__print_symbolic(n, IWT_NAMES_WR)

struct iwt_txplan;

/* trace.c */
void iwt_trace_framed(const struct ib_qp *qp, const struct iwt_txplan *p);

TRACE_EVENT(iwt_connect,
	TP_PROTO(const struct ib_qp *qp, bool initiator, const struct iwt_mpa_terms *terms,
		 const struct sockaddr_storage *local, const struct sockaddr_storage *remote),
	TP_ARGS(qp, initiator, terms, local, remote),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, qpn)
		__field(u16, ird)
		__field(u16, ord)
		__field(u8, mpa_rev)
		__field(bool, initiator)
		__field(bool, crc)
		__field(bool, tx_markers)
		__field(bool, rx_markers)
		__field(bool, large_fpdus)
		__array(u8, local, sizeof(struct sockaddr_in6))
		__array(u8, remote, sizeof(struct sockaddr_in6))
	),
	TP_fast_assign(
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->ird = terms->ird;
		__entry->ord = terms->ord;
		__entry->mpa_rev = terms->rdmac ? 0 : terms->enhanced ? 2 : 1;
		__entry->initiator = initiator;
		__entry->crc = terms->crc;
		__entry->tx_markers = terms->tx_markers;
		__entry->rx_markers = terms->rx_markers;
		__entry->large_fpdus = terms->tx_large;
		memcpy(__entry->local, local, sizeof(struct sockaddr_in6));
		memcpy(__entry->remote, remote, sizeof(struct sockaddr_in6));
	),
	TP_printk("dev=%u qpn=%u %s local=%pISpc remote=%pISpc mpa_rev=%u crc=%u "
		  "tx_markers=%u rx_markers=%u large_fpdus=%u ird=%u ord=%u",
		  __entry->dev, __entry->qpn, __entry->initiator ? "initiator" : "responder",
		  __entry->local, __entry->remote, __entry->mpa_rev, __entry->crc,
		  __entry->tx_markers, __entry->rx_markers, __entry->large_fpdus,
		  __entry->ird, __entry->ord)
);

TRACE_EVENT(iwt_disconnect,
	TP_PROTO(const struct ib_qp *qp, u64 tx_octets, u64 rx_octets, bool cut),
	TP_ARGS(qp, tx_octets, rx_octets, cut),
	TP_STRUCT__entry(
		__field(u64, tx_octets)
		__field(u64, rx_octets)
		__field(u32, dev)
		__field(u32, qpn)
		__field(bool, cut)
	),
	TP_fast_assign(
		__entry->tx_octets = tx_octets;
		__entry->rx_octets = rx_octets;
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->cut = cut;
	),
	TP_printk("dev=%u qpn=%u tx_octets=%llu rx_octets=%llu cut=%u", __entry->dev,
		  __entry->qpn, __entry->tx_octets, __entry->rx_octets, __entry->cut)
);

TRACE_EVENT(iwt_qp_state,
	TP_PROTO(const struct ib_qp *qp, u8 from, u8 to, u8 event, u32 err),
	TP_ARGS(qp, from, to, event, err),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, qpn)
		__field(u32, err)
		__field(u8, from)
		__field(u8, to)
		__field(u8, event)
	),
	TP_fast_assign(
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->err = err;
		__entry->from = from;
		__entry->to = to;
		__entry->event = event;
	),
	TP_printk("dev=%u qpn=%u state=%s->%s event=%s err=0x%05x", __entry->dev, __entry->qpn,
		  iwt_show_qp_state(__entry->from), iwt_show_qp_state(__entry->to),
		  iwt_show_qp_event(__entry->event), __entry->err)
);

TRACE_EVENT(iwt_term,
	TP_PROTO(const struct ib_qp *qp, bool tx, u32 err),
	TP_ARGS(qp, tx, err),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, qpn)
		__field(u32, err)
		__field(bool, tx)
	),
	TP_fast_assign(
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->err = err;
		__entry->tx = tx;
	),
	TP_printk("dev=%u qpn=%u %s err=0x%05x", __entry->dev, __entry->qpn,
		  __entry->tx ? "tx" : "rx", __entry->err)
);

TRACE_EVENT(iwt_rx_error,
	TP_PROTO(const struct ib_qp *qp, const struct iwt_fpdu *f, u32 err),
	TP_ARGS(qp, f, err),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, qpn)
		__field(u32, err)
		__field(u32, stag)
		__field(u64, to)
		__field(u16, ulpdu_len)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->err = err;
		__entry->stag = f->ddp.stag;
		__entry->to = f->ddp.to;
		__entry->ulpdu_len = f->ulpdu_len;
		__entry->opcode = f->ddp.opcode;
	),
	TP_printk("dev=%u qpn=%u err=0x%05x opcode=%s ulpdu_len=%u stag=0x%08x to=0x%llx",
		  __entry->dev, __entry->qpn, __entry->err, iwt_show_rdmap(__entry->opcode),
		  __entry->ulpdu_len, __entry->stag, __entry->to)
);

/*
 * In a tagged FPDU, stag and to are valid. In an untagged FPDU, qn, msn and mo are valid; in a
 * Send with Invalidate, stag is valid, too.
 */
DECLARE_EVENT_CLASS(iwt_fpdu,
	TP_PROTO(const struct ib_qp *qp, const struct iwt_ddp *ddp, u16 ulpdu_len, u32 payload),
	TP_ARGS(qp, ddp, ulpdu_len, payload),
	TP_STRUCT__entry(
		__field(u64, to)
		__field(u32, dev)
		__field(u32, qpn)
		__field(u32, payload)
		__field(u32, stag)
		__field(u32, qn)
		__field(u32, msn)
		__field(u32, mo)
		__field(u16, ulpdu_len)
		__field(u8, opcode)
		__field(bool, tagged)
		__field(bool, last)
	),
	TP_fast_assign(
		__entry->to = ddp->to;
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->payload = payload;
		__entry->stag = ddp->stag;
		__entry->qn = ddp->qn;
		__entry->msn = ddp->msn;
		__entry->mo = ddp->mo;
		__entry->ulpdu_len = ulpdu_len;
		__entry->opcode = ddp->opcode;
		__entry->tagged = ddp->tagged;
		__entry->last = ddp->last;
	),
	TP_printk("dev=%u qpn=%u opcode=%s ulpdu_len=%u payload=%u last=%u tagged=%u "
		  "stag=0x%08x to=0x%llx qn=%u msn=%u mo=%u",
		  __entry->dev, __entry->qpn, iwt_show_rdmap(__entry->opcode),
		  __entry->ulpdu_len, __entry->payload, __entry->last, __entry->tagged,
		  __entry->stag, __entry->to, __entry->qn, __entry->msn, __entry->mo)
);

DEFINE_EVENT(iwt_fpdu, iwt_fpdu_rx,
	TP_PROTO(const struct ib_qp *qp, const struct iwt_ddp *ddp, u16 ulpdu_len, u32 payload),
	TP_ARGS(qp, ddp, ulpdu_len, payload)
);

DEFINE_EVENT(iwt_fpdu, iwt_fpdu_tx,
	TP_PROTO(const struct ib_qp *qp, const struct iwt_ddp *ddp, u16 ulpdu_len, u32 payload),
	TP_ARGS(qp, ddp, ulpdu_len, payload)
);

TRACE_EVENT(iwt_tx_batch,
	TP_PROTO(const struct ib_qp *qp, u32 fpdus, u32 bytes, u32 sent),
	TP_ARGS(qp, fpdus, bytes, sent),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, qpn)
		__field(u32, fpdus)
		__field(u32, bytes)
		__field(u32, sent)
	),
	TP_fast_assign(
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->fpdus = fpdus;
		__entry->bytes = bytes;
		__entry->sent = sent;
	),
	TP_printk("dev=%u qpn=%u fpdus=%u bytes=%u sent=%u", __entry->dev, __entry->qpn,
		  __entry->fpdus, __entry->bytes, __entry->sent)
);

/* An engine has copied a work request (a request to send, or a receive) out of a ring. */
TRACE_EVENT(iwt_wr_start,
	TP_PROTO(const struct ib_qp *qp, u64 wr_id, u8 opcode, u64 len),
	TP_ARGS(qp, wr_id, opcode, len),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u64, len)
		__field(u32, dev)
		__field(u32, qpn)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__entry->wr_id = wr_id;
		__entry->len = len;
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->opcode = opcode;
	),
	TP_printk("dev=%u qpn=%u wr_id=0x%llx opcode=%s len=%llu", __entry->dev, __entry->qpn,
		  __entry->wr_id, iwt_show_wr(__entry->opcode), __entry->len)
);

DECLARE_EVENT_CLASS(iwt_wr_end,
	TP_PROTO(const struct ib_qp *qp, u64 wr_id, u8 opcode, u8 status),
	TP_ARGS(qp, wr_id, opcode, status),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, dev)
		__field(u32, qpn)
		__field(u8, opcode)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->wr_id = wr_id;
		__entry->dev = qp->device->index;
		__entry->qpn = qp->qp_num;
		__entry->opcode = opcode;
		__entry->status = status;
	),
	TP_printk("dev=%u qpn=%u wr_id=0x%llx opcode=%s status=%u", __entry->dev, __entry->qpn,
		  __entry->wr_id, iwt_show_wr(__entry->opcode), __entry->status)
);

/* A work request has completed, whether or not the consumer gets a completion. */
DEFINE_EVENT(iwt_wr_end, iwt_wr_done,
	TP_PROTO(const struct ib_qp *qp, u64 wr_id, u8 opcode, u8 status),
	TP_ARGS(qp, wr_id, opcode, status)
);

/* A work request has completed with an error other than IB_WC_WR_FLUSH_ERR. */
DEFINE_EVENT(iwt_wr_end, iwt_wr_error,
	TP_PROTO(const struct ib_qp *qp, u64 wr_id, u8 opcode, u8 status),
	TP_ARGS(qp, wr_id, opcode, status)
);

TRACE_EVENT(iwt_cm,
	TP_PROTO(u32 ep, u8 from, u8 to, u8 event, int status),
	TP_ARGS(ep, from, to, event, status),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(int, status)
		__field(u8, from)
		__field(u8, to)
		__field(u8, event)
	),
	TP_fast_assign(
		__entry->ep = ep;
		__entry->status = status;
		__entry->from = from;
		__entry->to = to;
		__entry->event = event;
	),
	TP_printk("ep=%u state=%s->%s event=%s status=%d", __entry->ep,
		  iwt_show_cm_state(__entry->from), iwt_show_cm_state(__entry->to),
		  iwt_show_cm_event(__entry->event), __entry->status)
);

TRACE_EVENT(iwt_evicted,
	TP_PROTO(u32 ep, u32 limit),
	TP_ARGS(ep, limit),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(u32, limit)
	),
	TP_fast_assign(
		__entry->ep = ep;
		__entry->limit = limit;
	),
	TP_printk("ep=%u limit=%u", __entry->ep, __entry->limit)
);

TRACE_EVENT(iwt_mpa,
	TP_PROTO(u32 ep, bool tx, u8 rev, u8 flags, u16 pd_len),
	TP_ARGS(ep, tx, rev, flags, pd_len),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(u16, pd_len)
		__field(u8, rev)
		__field(u8, flags)
		__field(bool, tx)
	),
	TP_fast_assign(
		__entry->ep = ep;
		__entry->pd_len = pd_len;
		__entry->rev = rev;
		__entry->flags = flags;
		__entry->tx = tx;
	),
	TP_printk("ep=%u %s rev=%u flags=0x%02x pd_len=%u", __entry->ep,
		  __entry->tx ? "tx" : "rx", __entry->rev, __entry->flags,
		  __entry->pd_len)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
