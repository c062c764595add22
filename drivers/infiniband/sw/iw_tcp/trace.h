/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: every change of state and every error leaves one. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_tcp

#if !defined(IWT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define IWT_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>

/* States and events are those of proto/qpfsm.h and proto/cmfsm.h, errors are
 * IWT_ERR() of proto/wire.h: layer, type and code from the second hex digit on.
 */

TRACE_EVENT(iwt_qp_state,
	TP_PROTO(u32 qpn, u8 from, u8 to, u8 event, u32 err),
	TP_ARGS(qpn, from, to, event, err),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, err)
		__field(u8, from)
		__field(u8, to)
		__field(u8, event)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->err = err;
		__entry->from = from;
		__entry->to = to;
		__entry->event = event;
	),
	TP_printk("qpn=%u state=%u->%u event=%u err=0x%05x", __entry->qpn,
		  __entry->from, __entry->to, __entry->event, __entry->err)
);

TRACE_EVENT(iwt_term,
	TP_PROTO(u32 qpn, bool tx, u32 err),
	TP_ARGS(qpn, tx, err),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, err)
		__field(bool, tx)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->err = err;
		__entry->tx = tx;
	),
	TP_printk("qpn=%u %s err=0x%05x", __entry->qpn,
		  __entry->tx ? "tx" : "rx", __entry->err)
);

TRACE_EVENT(iwt_rx_error,
	TP_PROTO(u32 qpn, u32 err, u16 ulpdu_len, u8 opcode),
	TP_ARGS(qpn, err, ulpdu_len, opcode),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, err)
		__field(u16, ulpdu_len)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->err = err;
		__entry->ulpdu_len = ulpdu_len;
		__entry->opcode = opcode;
	),
	TP_printk("qpn=%u err=0x%05x ulpdu_len=%u opcode=%u", __entry->qpn,
		  __entry->err, __entry->ulpdu_len, __entry->opcode)
);

TRACE_EVENT(iwt_tx_batch,
	TP_PROTO(u32 qpn, u32 fpdus, u32 bytes, int sent),
	TP_ARGS(qpn, fpdus, bytes, sent),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, fpdus)
		__field(u32, bytes)
		__field(int, sent)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->fpdus = fpdus;
		__entry->bytes = bytes;
		__entry->sent = sent;
	),
	TP_printk("qpn=%u fpdus=%u bytes=%u sent=%d", __entry->qpn,
		  __entry->fpdus, __entry->bytes, __entry->sent)
);

TRACE_EVENT(iwt_wqe_error,
	TP_PROTO(u32 qpn, u64 wr_id, u8 opcode, u8 status),
	TP_ARGS(qpn, wr_id, opcode, status),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u8, opcode)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->wr_id = wr_id;
		__entry->qpn = qpn;
		__entry->opcode = opcode;
		__entry->status = status;
	),
	TP_printk("qpn=%u wr_id=0x%llx opcode=%u status=%u", __entry->qpn,
		  __entry->wr_id, __entry->opcode, __entry->status)
);

TRACE_EVENT(iwt_cm,
	TP_PROTO(const void *ep, u8 from, u8 to, u8 event, int status),
	TP_ARGS(ep, from, to, event, status),
	TP_STRUCT__entry(
		__field(const void *, ep)
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
	TP_printk("ep=%p state=%u->%u event=%u status=%d", __entry->ep,
		  __entry->from, __entry->to, __entry->event, __entry->status)
);

TRACE_EVENT(iwt_evicted,
	TP_PROTO(const void *ep, u32 limit),
	TP_ARGS(ep, limit),
	TP_STRUCT__entry(
		__field(const void *, ep)
		__field(u32, limit)
	),
	TP_fast_assign(
		__entry->ep = ep;
		__entry->limit = limit;
	),
	TP_printk("ep=%p limit=%u", __entry->ep, __entry->limit)
);

TRACE_EVENT(iwt_mpa,
	TP_PROTO(const void *ep, bool tx, u8 rev, u8 flags, u16 pd_len),
	TP_ARGS(ep, tx, rev, flags, pd_len),
	TP_STRUCT__entry(
		__field(const void *, ep)
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
	TP_printk("ep=%p %s rev=%u flags=0x%02x pd_len=%u", __entry->ep,
		  __entry->tx ? "tx" : "rx", __entry->rev, __entry->flags,
		  __entry->pd_len)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
