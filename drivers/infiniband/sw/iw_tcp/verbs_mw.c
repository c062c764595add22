// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on memory windows. Work requests bind the windows (mw.c). */
#include "verbs.h"

#include "mw.h"

/**
 * iwt_alloc_mw() - ib_device operation alloc_mw
 * @ibmw: window, allocated by RDMA core, which has set the protection domain and the type; this
 *	function sets the rkey
 * @udata: private data of the process, which must be zero; NULL for a kernel consumer
 *
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP if the type is unknown, or if the private data is not zero; -ENOMEM if
 * memory is short, or if the device already has %IWT_MAX_MW windows.
 */
int iwt_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct iwt_mw *mw = to_iwt_mw(ibmw);
	int err = udata ? iwt_udata_known(udata, 0) : 0;

	if (err)
		return err;
	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EOPNOTSUPP;
	mw->win = iwt_mw_create(ibmw->pd, ibmw->type == IB_MW_TYPE_2);
	if (IS_ERR(mw->win))
		return PTR_ERR(mw->win);
	ibmw->rkey = iwt_mw_stag(mw->win);
	return 0;
}

/**
 * iwt_dealloc_mw() - ib_device operation dealloc_mw
 * @ibmw: window; RDMA core frees the object @ibmw afterwards
 *
 * A bound window is unbound first. May sleep.
 *
 * Return: 0.
 */
int iwt_dealloc_mw(struct ib_mw *ibmw)
{
	iwt_mw_destroy(to_iwt_mw(ibmw)->win);
	return 0;
}
