// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on memory windows. They are bound by work requests. */
#include "verbs.h"

#include "mw.h"

/**
 * iwt_alloc_mw() - ib_device operation alloc_mw
 * @ibmw: object, allocated by the core, with domain and type; takes the rkey
 * @udata: nothing is exchanged with a process
 *
 * May sleep.
 *
 * Return: 0, -EOPNOTSUPP for an exchange or a type that is not known, or -ENOMEM when there are
 * %IWT_MAX_MW.
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
 * @ibmw: object; the core frees it afterwards
 *
 * A binding ends. May sleep.
 *
 * Return: 0.
 */
int iwt_dealloc_mw(struct ib_mw *ibmw)
{
	iwt_mw_destroy(to_iwt_mw(ibmw)->win);
	return 0;
}
