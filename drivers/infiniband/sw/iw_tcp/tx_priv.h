/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tx.c, which sends, tx_frame.c, which frames, tx_msg.c, which knows what,
 * and tx_src.c, which knows where from, share.
 */
#ifndef IWT_TX_PRIV_H
#define IWT_TX_PRIV_H

#include <rdma/ib_verbs.h>

struct iwt_qp;
struct iwt_tx;

bool iwt_tx_pick(struct iwt_qp *qp);
bool iwt_tx_fail_wqe(struct iwt_qp *qp, enum ib_wc_status status);
bool iwt_tx_next_piece(struct iwt_qp *qp);
bool iwt_tx_fetch(struct iwt_qp *qp, u8 *to, u32 len);
void iwt_tx_finish(struct iwt_qp *qp);
void iwt_tx_let_go(struct iwt_tx *tx);
void iwt_tx_sent(struct iwt_tx *tx, int ret);
void iwt_tx_fill(struct iwt_qp *qp);
bool iwt_tx_zc_wanted(struct iwt_qp *qp, u32 fit);
bool iwt_tx_zc_fill(struct iwt_qp *qp, u32 fit);
bool iwt_tx_zc_send(struct iwt_qp *qp);
void iwt_tx_zc_drop(struct iwt_tx *tx);

#endif
