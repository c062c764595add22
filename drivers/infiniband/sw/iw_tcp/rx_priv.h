/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the receive engine share. */
#ifndef IWT_RX_PRIV_H
#define IWT_RX_PRIV_H

#include <rdma/ib_verbs.h>

#include "proto/fpdu.h"

struct iwt_qp;
struct iwt_read_out;
struct iwt_rx;

u32 iwt_rx_tagged(struct iwt_qp *qp, struct iwt_fpdu *f, struct iwt_cursor *at);
u32 iwt_rx_untagged(struct iwt_qp *qp, struct iwt_fpdu *f,
		    struct iwt_cursor *at);
u32 iwt_rx_finish_read(struct iwt_qp *qp, struct iwt_read_out *out);
void iwt_rx_fail_recv(struct iwt_qp *qp, enum ib_wc_status status);

#endif
