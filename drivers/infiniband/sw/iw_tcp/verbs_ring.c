// SPDX-License-Identifier: GPL-2.0
/* The driver's own uverbs methods for rings: QP_DOORBELL, CQ_POLL, CQ_ARM and CQ_RESIZED. */
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "cq.h"
#include "dev.h"
#include "qp.h"
#include "stats.h"
#include "verbs.h"
#include "wake.h"

#define UVERBS_MODULE_NAME iw_tcp
#include <rdma/uverbs_named_ioctl.h>

/*
 * Return: the verbs object (struct ib_qp or struct ib_cq) of a mandatory attribute. RDMA core
 * refuses a call without the attribute, and keeps a reference to the object until the call ends.
 */
static void *object(struct uverbs_attr_bundle *attrs, u16 id)
{
	return uverbs_attr_get_uobject(attrs, id)->object;
}

static int UVERBS_HANDLER(IWT_METHOD_QP_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct iwt_qp *qp = to_iwt_qp(object(attrs, IWT_ATTR_QP));

	iwt_count(qp->stream.dev, IWT_C_DOORBELL);
	iwt_doorbell(qp);
	return 0;
}

static int UVERBS_HANDLER(IWT_METHOD_CQ_POLL)(struct uverbs_attr_bundle *attrs)
{
	iwt_cqpoll_flush(to_iwt_cq(object(attrs, IWT_ATTR_CQ)));
	return 0;
}

static int UVERBS_HANDLER(IWT_METHOD_CQ_ARM)(struct uverbs_attr_bundle *attrs)
{
	u32 flags;
	int err;

	err = uverbs_get_flags32(&flags, attrs, IWT_ATTR_CQ_ARM_FLAGS,
				 IWT_CQ_ARM_FOR_SOLICITED | IWT_CQ_ARM_AT_ONCE);
	if (err)
		return err;
	iwt_cq_ask(to_iwt_cq(object(attrs, IWT_ATTR_CQ)),
		   flags & IWT_CQ_ARM_FOR_SOLICITED,
		   flags & IWT_CQ_ARM_AT_ONCE);
	return 0;
}

static int UVERBS_HANDLER(IWT_METHOD_CQ_RESIZED)(struct uverbs_attr_bundle *attrs)
{
	u32 flags;
	int err;

	err = uverbs_get_flags32(&flags, attrs, IWT_ATTR_CQ_RESIZED_FLAGS,
				 IWT_CQ_RESIZED_NOT);
	if (err)
		return err;
	return iwt_cq_resized(to_iwt_cq(object(attrs, IWT_ATTR_CQ)),
			      !(flags & IWT_CQ_RESIZED_NOT));
}

#define RING_CQ								\
	UVERBS_ATTR_IDR(IWT_ATTR_CQ, UVERBS_OBJECT_CQ,			\
			UVERBS_ACCESS_READ, UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_QP_DOORBELL,
			    UVERBS_ATTR_IDR(IWT_ATTR_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_CQ_POLL, RING_CQ);

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_CQ_ARM, RING_CQ,
			    UVERBS_ATTR_FLAGS_IN(IWT_ATTR_CQ_ARM_FLAGS,
						 enum iwt_cq_arm_flags,
						 UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_CQ_RESIZED, RING_CQ,
			    UVERBS_ATTR_FLAGS_IN(IWT_ATTR_CQ_RESIZED_FLAGS,
						 enum iwt_cq_resized_flags,
						 UA_MANDATORY));

ADD_UVERBS_METHODS(iwt_ring_qp_methods, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(IWT_METHOD_QP_DOORBELL));

ADD_UVERBS_METHODS(iwt_ring_cq_methods, UVERBS_OBJECT_CQ,
		   &UVERBS_METHOD(IWT_METHOD_CQ_POLL),
		   &UVERBS_METHOD(IWT_METHOD_CQ_ARM),
		   &UVERBS_METHOD(IWT_METHOD_CQ_RESIZED));

const struct uapi_definition iwt_ring_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &iwt_ring_qp_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_CQ, &iwt_ring_cq_methods),
	{},
};
