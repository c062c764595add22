// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on memory windows. Work requests bind the windows (mw.c). */
#include "verbs.h"

#include "mw.h"

/**
 * iwt_alloc_mw() - ib_device operation alloc_mw
 * @ibmw: object, allocated by the core, with domain and type; its rkey is set
 * @udata: private data of the process, must be zero, or NULL
 *
 * May sleep.
 *
 * Return: 0, -EOPNOTSUPP for private data that is not zero or an unknown type, or -ENOMEM, also
 * when the device has %IWT_MAX_MW windows.
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
 * If the window is bound, it is unbound. May sleep.
 *
 * Return: 0.
 */
int iwt_dealloc_mw(struct ib_mw *ibmw)
{
	iwt_mw_destroy(to_iwt_mw(ibmw)->win);
	return 0;
}
