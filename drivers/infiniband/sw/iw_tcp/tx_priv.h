/* SPDX-License-Identifier: GPL-2.0 */
/* What tx.c, which frames, and tx_msg.c, which knows what, share. */
#ifndef IWT_TX_PRIV_H
#define IWT_TX_PRIV_H

#include <linux/types.h>

struct iwt_qp;

bool iwt_tx_pick(struct iwt_qp *qp);
bool iwt_tx_fetch(struct iwt_qp *qp, u8 *to, u32 len);
void iwt_tx_finish(struct iwt_qp *qp);

#endif
