/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the queue pair share. */
#ifndef IWT_QP_PRIV_H
#define IWT_QP_PRIV_H

#include "qp.h"

/* What iw_cm lets every peer do. */
#define IWT_IW_CM_RIGHTS	(IWT_REMOTE_READ | IWT_REMOTE_WRITE)

extern const struct iwt_sock_ops iwt_qp_sock_ops;

int iwt_qp_do_step(struct iwt_qp *qp, enum iwt_qp_event event, u32 err);
bool iwt_qp_look_lost(struct iwt_qp *qp);
void iwt_qp_tell(struct iwt_qp *qp, enum iwt_llp_event ev);
void iwt_qp_flush_setup(struct iwt_qp *qp);
void iwt_qp_flush(struct iwt_qp *qp);
void iwt_qp_seal(struct iwt_qp *qp);
void iwt_qp_flush_all(struct iwt_qp *qp);
void iwt_qp_flush_end(struct iwt_qp *qp);
void iwt_qp_flush_held(struct iwt_qp *qp);
void iwt_qp_flush_wake(void *ctx);
void iwt_watch_setup(struct iwt_watch *w);
void iwt_watch_end(struct iwt_qp *qp);
u32 iwt_watch_next_cpu(u32 cpu, u32 poster);
u32 iwt_watch_on(u32 cpu, struct work_struct *work);
void iwt_move_setup(struct iwt_move *m);
void iwt_move_end(struct iwt_qp *qp);
void iwt_stay_setup(struct iwt_stay *s);
void iwt_stay_rang(struct iwt_qp *qp, bool answers);
void iwt_stay_before(struct iwt_qp *qp, bool receive);
void iwt_qp_crowded(struct iwt_qp *qp);
void iwt_qp_run_here(struct iwt_qp *qp);

#endif
