// SPDX-License-Identifier: GPL-2.0
/* Protection domains: an identity, nothing else. */
#include "dev.h"
#include "verbs.h"

/**
 * iwt_alloc_pd() - ib_device operation alloc_pd
 * @pd: object, allocated by the core
 * @udata: a process has nothing to say or to learn
 *
 * Return: 0, -EOPNOTSUPP, or -ENOMEM when there are %IWT_MAX_PD.
 */
int iwt_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int err = udata ? iwt_udata_known(udata, 0) : 0;

	return err ?: iwt_dev_take(&to_iwt_dev(pd->device)->n_pds, IWT_MAX_PD);
}

/* ib_device operation dealloc_pd; the core counts the users. Return: 0. */
int iwt_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	atomic_dec(&to_iwt_dev(pd->device)->n_pds);
	return 0;
}
