// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, thread domains and parent domains. The kernel has only protection domains:
 * a command for a parent domain contains the handle of its protection domain.
 */

#include <errno.h>
#include <stdlib.h>

#include "iw_tcp.h"

struct ibv_pd *iwt_alloc_pd(struct ibv_context *context)
{
	struct ibv_alloc_pd cmd = {};
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct iwt_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}

	return &pd->pd;
}

static void iwt_drop_parent(struct iwt_pd *parent)
{
	__atomic_fetch_sub(&parent->of->parents, 1, __ATOMIC_SEQ_CST);
	if (parent->td)
		__atomic_fetch_sub(&parent->td->parents, 1, __ATOMIC_SEQ_CST);
	free(parent);
}

/* Deallocates a protection domain or a parent domain. */
int iwt_dealloc_pd(struct ibv_pd *ibpd)
{
	struct iwt_pd *pd = to_iwt_pd(ibpd);
	int ret;

	if (pd->of) {
		iwt_drop_parent(pd);
		return 0;
	}
	if (iwt_load(&pd->parents))
		return EBUSY;
	ret = ibv_cmd_dealloc_pd(ibpd);
	if (ret)
		return ret;

	free(pd);

	return 0;
}

struct ibv_td *iwt_alloc_td(struct ibv_context *context,
			    struct ibv_td_init_attr *attr)
{
	struct iwt_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = context;

	return &td->td;
}

int iwt_dealloc_td(struct ibv_td *ibtd)
{
	struct iwt_td *td = to_iwt_td(ibtd);

	if (iwt_load(&td->parents))
		return EBUSY;
	free(td);

	return 0;
}

/*
 * Checks the attributes of a new parent domain; returns 0 or an errno value. Allocators of the
 * program are rejected: they would allocate the memory of the queues, but the kernel allocates
 * it. pd_context is accepted and ignored, because it is only an argument of such allocators.
 */
static int iwt_check_parent(struct ibv_context *context,
			    const struct ibv_parent_domain_init_attr *attr)
{
	if (!attr->pd || attr->pd->context != context ||
	    (attr->td && attr->td->context != context))
		return EINVAL;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT))
		return EOPNOTSUPP;

	return 0;
}

struct ibv_pd *
iwt_alloc_parent_domain(struct ibv_context *context,
			struct ibv_parent_domain_init_attr *attr)
{
	struct iwt_pd *pd, *parent;
	int ret;

	ret = iwt_check_parent(context, attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	parent = calloc(1, sizeof(*parent));
	if (!parent)
		return NULL;

	pd = to_iwt_pd(attr->pd);
	/* if attr->pd is a parent domain itself, refer to the protection domain of attr->pd */
	if (pd->of)
		pd = pd->of;
	parent->of = pd;
	__atomic_fetch_add(&pd->parents, 1, __ATOMIC_SEQ_CST);
	if (attr->td) {
		parent->td = to_iwt_td(attr->td);
		__atomic_fetch_add(&parent->td->parents, 1, __ATOMIC_SEQ_CST);
	}
	ibv_initialize_parent_domain(&parent->pd, &pd->pd);

	return &parent->pd;
}

/* Is this domain a parent domain, not a protection domain? */
bool iwt_is_parent_domain(struct ibv_pd *pd)
{
	return to_iwt_pd(pd)->of;
}

/* Does the domain have a thread domain, so that only one thread at a time uses its objects? */
bool iwt_pd_single_threaded(struct ibv_pd *pd)
{
	return to_iwt_pd(pd)->td;
}
