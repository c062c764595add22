// SPDX-License-Identifier: GPL-2.0
/* Protection domains: an identity, nothing else. */
#include "verbs.h"

/**
 * iwt_alloc_pd() - ib_device operation alloc_pd
 * @pd: object, allocated by the core
 * @udata: a process has nothing to say or to learn
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int iwt_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return udata ? iwt_udata_known(udata, 0) : 0;
}

/* ib_device operation dealloc_pd; the core counts the users. Return: 0. */
int iwt_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}
