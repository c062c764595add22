/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that only the files qp*.c share. */
#ifndef IWT_QP_PRIV_H
#define IWT_QP_PRIV_H

#include "qp.h"

/* Rights that iw_cm grants to every peer. */
#define IWT_IW_CM_RIGHTS	(IWT_REMOTE_READ | IWT_REMOTE_WRITE)

/* Maximum number of requests of each queue that one step of a flush completes. */
#define IWT_FLUSH_STEP		256

/* qp.c */
int iwt_qp_do_step(struct iwt_qp *qp, enum iwt_qp_event event, u32 err);
void iwt_qp_notify_cm(struct iwt_qp *qp, enum iwt_llp_event ev);
/* Return: true if a Terminate is to be sent: a completion was lost, or the SRQ has failed. */
bool iwt_qp_check_overrun(struct iwt_qp *qp);
/* Return: true if some requests are not completed yet: the caller starts the next step. */
bool iwt_qp_flush_step(struct iwt_qp *qp);
void iwt_qp_flush_later(struct iwt_qp *qp);
void iwt_qp_fail_posted(struct iwt_qp *qp);

/* qp_engine.c */
extern const struct iwt_sock_ops iwt_engine_ops;
enum iwt_qp_event iwt_qp_loss(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock);

/* qp_run.c */
void iwt_qp_flush_all(struct iwt_qp *qp);

#endif
