// SPDX-License-Identifier: GPL-2.0
/* Code for the tracepoints of trace.h. */
#define CREATE_TRACE_POINTS
#include "trace.h"

#include "proto/txseg.h"

/**
 * iwt_trace_framed() - trace an FPDU that was framed
 * @qp: queue pair
 * @p: the FPDU
 *
 * Any context.
 */
void iwt_trace_framed(const struct ib_qp *qp, const struct iwt_txplan *p)
{
	struct iwt_ddp ddp;

	iwt_ddp_parse(p->head + IWT_FPDU_LEN_LEN, &ddp);
	trace_iwt_fpdu_tx(qp, &ddp, p->head_len - IWT_FPDU_LEN_LEN + p->payload,
			  p->payload);
}
