// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows. The kernel has all state of a window. A new binding needs a new key byte in the
 * rkey: this file increments the byte for a window of type 1, the program does so for a window of
 * type 2.
 */

#include <errno.h>
#include <stdlib.h>

#include "iw_tcp.h"
#include "iw_tcp_abi.h"

struct ibv_mw *iwt_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct ibv_alloc_mw cmd = {};
	struct ibv_mw *mw;
	int ret;

	/* an older kernel can't bind a window */
	if (!(to_iwt_context(pd->context)->features & IWT_FEATURE_WINDOWS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}

	return mw;
}

int iwt_dealloc_mw(struct ibv_mw *mw)
{
	int ret;

	ret = ibv_cmd_dealloc_mw(mw);
	if (ret)
		return ret;

	free(mw);

	return 0;
}

static int iwt_post_bind(struct iwt_qp *qp, struct ibv_mw *mw, uint32_t rkey,
			 const struct ibv_mw_bind *mw_bind)
{
	struct iwt_send_wqe *wqe;
	int ret;

	wqe = iwt_wq_claim(&qp->sq);
	if (!wqe)
		return ENOMEM;

	iwt_wqe_start(qp, wqe, IWT_WR_BIND_MW, mw_bind->wr_id,
		      mw_bind->send_flags);
	ret = iwt_wqe_set_bind(wqe, mw, rkey, &mw_bind->bind_info);
	if (ret)
		/* the kernel has not yet read the entry */
		qp->sq.next--;

	return ret;
}

/* libibverbs has checked that the window is of type 1. */
int iwt_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		struct ibv_mw_bind *mw_bind)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	enum iwt_news news;
	int ret;

	iwt_wq_lock(&qp->sq);
	ret = iwt_post_bind(qp, mw, rkey, mw_bind);
	news = iwt_wq_publish(&qp->sq);
	iwt_wq_unlock(&qp->sq);

	if (!ret)
		ret = iwt_sq_tell(qp, news);
	if (!ret)
		mw->rkey = rkey;

	return ret;
}
