// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's own uverbs methods for delayed startup: MPA on a TCP socket of a process
 * (RFC 5044 7.1.3; cm_delayed.c).
 */
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "cm.h"
#include "dev.h"
#include "proto/mpa.h"
#include "qp.h"
#include "verbs.h"

#define UVERBS_MODULE_NAME iw_tcp
#include <rdma/uverbs_named_ioctl.h>

/*
 * Get an optional attribute's data, which RDMA core frees when the call ends. Without the
 * attribute, *@p and *@len do not change. Return: 0 or -errno.
 */
static int get_octets(struct uverbs_attr_bundle *attrs, u16 id, const u8 **p,
		      u32 *len)
{
	int n;

	if (!uverbs_attr_is_valid(attrs, id))
		return 0;
	n = uverbs_attr_get_len(attrs, id);
	if (n < 0)
		return n;
	*p = uverbs_attr_get_alloced_ptr(attrs, id);
	*len = n;
	return 0;
}

static int get_frames(struct uverbs_attr_bundle *attrs, struct iwt_delayed *a)
{
	int err;

	err = get_octets(attrs, IWT_ATTR_MPA_PRIVATE_DATA, &a->pd, &a->pd_len);
	if (err)
		return err;
	err = get_octets(attrs, IWT_ATTR_MPA_REQUEST, &a->request, &a->request_len);
	if (err)
		return err;
	return get_octets(attrs, IWT_ATTR_MPA_REPLY, &a->reply, &a->reply_len);
}

static int get_param(struct uverbs_attr_bundle *attrs, struct iwt_delayed *a)
{
	struct iwt_mpa_param param;
	int err;

	err = uverbs_copy_from(&param, attrs, IWT_ATTR_MPA_PARAM);
	if (err)
		return err;
	if (param.flags & ~IWT_MPA_PLAIN || param.reserved)
		return -EOPNOTSUPP;
	a->ird = param.ird;
	a->ord = param.ord;
	a->plain = param.flags & IWT_MPA_PLAIN;
	return uverbs_get_raw_fd(&a->fd, attrs, IWT_ATTR_MPA_FD);
}

/*
 * Get the attributes of MPA_REQUEST and MPA_START. An optional attribute that is absent stays
 * empty. Return: 0 or -errno.
 */
static int get_delayed(struct uverbs_attr_bundle *attrs, struct iwt_delayed *a)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  IWT_ATTR_MPA_QP);
	int err;

	if (IS_ERR(uobj))
		return PTR_ERR(uobj);
	*a = (struct iwt_delayed) {
		.qp = to_iwt_qp(uobj->object),
	};
	a->dev = a->qp->stream.dev;
	err = get_param(attrs, a);
	if (err)
		return err;
	return get_frames(attrs, a);
}

static int put_frame(struct uverbs_attr_bundle *attrs, u16 id, const u8 *frame,
		     int len)
{
	return len < 0 ? len : uverbs_copy_to(attrs, id, frame, len);
}

/*
 * UVERBS_HANDLER() and the other macros of RDMA core derive the names of functions and variables
 * from the id of the method.
 */
static int UVERBS_HANDLER(IWT_METHOD_MPA_REQUEST)(struct uverbs_attr_bundle *attrs)
{
	u8 frame[IWT_MPA_MAX_FRAME];
	struct iwt_delayed a;
	int ret;

	ret = get_delayed(attrs, &a);
	if (ret)
		return ret;
	ret = iwt_cm_delayed_request(&a, frame);
	return put_frame(attrs, IWT_ATTR_MPA_FRAME, frame, ret);
}

static int UVERBS_HANDLER(IWT_METHOD_MPA_START)(struct uverbs_attr_bundle *attrs)
{
	struct iwt_mpa_terms terms;
	struct iwt_mpa_result result;
	struct iwt_delayed a;
	int ret;

	ret = get_delayed(attrs, &a);
	if (ret)
		return ret;
	ret = iwt_cm_delayed_start(&a, &terms);
	if (ret)
		return ret;
	result = (struct iwt_mpa_result) {
		.ird = terms.ird,
		.ord = terms.ord,
		.flags = (terms.crc ? IWT_MPA_CRC : 0) |
			 (terms.tx_markers ? IWT_MPA_TX_MARKERS : 0) |
			 (terms.rx_markers ? IWT_MPA_RX_MARKERS : 0) |
			 (terms.enhanced ? IWT_MPA_ENHANCED : 0),
	};
	return uverbs_copy_to_struct_or_zero(attrs, IWT_ATTR_MPA_RESULT,
					     &result, sizeof(result));
}

static int UVERBS_HANDLER(IWT_METHOD_MPA_REJECT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uc = ib_uverbs_get_ucontext(attrs);
	u8 frame[IWT_MPA_MAX_FRAME];
	struct iwt_delayed a = {};
	int ret;

	if (IS_ERR(uc))
		return PTR_ERR(uc);
	a.dev = to_iwt_dev(uc->device);
	ret = get_frames(attrs, &a);
	if (ret)
		return ret;
	ret = iwt_cm_delayed_reject(&a, frame);
	return put_frame(attrs, IWT_ATTR_MPA_FRAME, frame, ret);
}

#define MPA_QP								\
	UVERBS_ATTR_IDR(IWT_ATTR_MPA_QP, UVERBS_OBJECT_QP,		\
			UVERBS_ACCESS_READ, UA_MANDATORY)

#define MPA_FD								\
	UVERBS_ATTR_RAW_FD(IWT_ATTR_MPA_FD, UA_MANDATORY)

#define MPA_PARAM							\
	UVERBS_ATTR_PTR_IN(IWT_ATTR_MPA_PARAM,				\
			   UVERBS_ATTR_STRUCT(struct iwt_mpa_param, reserved), \
			   UA_MANDATORY)

#define MPA_PRIVATE_DATA						\
	UVERBS_ATTR_PTR_IN(IWT_ATTR_MPA_PRIVATE_DATA,			\
			   UVERBS_ATTR_SIZE(1, IWT_MPA_MAX_PD),		\
			   UA_OPTIONAL, UA_ALLOC_AND_COPY)

#define MPA_IN(id, need)						\
	UVERBS_ATTR_PTR_IN(id,						\
			   UVERBS_ATTR_SIZE(IWT_MPA_HDR_LEN,		\
					    IWT_MPA_MAX_FRAME),		\
			   need, UA_ALLOC_AND_COPY)

#define MPA_OUT								\
	UVERBS_ATTR_PTR_OUT(IWT_ATTR_MPA_FRAME,				\
			    UVERBS_ATTR_SIZE(IWT_MPA_MAX_FRAME,		\
					     IWT_MPA_MAX_FRAME),	\
			    UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_MPA_REQUEST,
			    MPA_QP, MPA_FD, MPA_PARAM, MPA_PRIVATE_DATA,
			    MPA_OUT);

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_MPA_START,
			    MPA_QP, MPA_FD, MPA_PARAM, MPA_PRIVATE_DATA,
			    MPA_IN(IWT_ATTR_MPA_REQUEST, UA_MANDATORY),
			    MPA_IN(IWT_ATTR_MPA_REPLY, UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(IWT_ATTR_MPA_RESULT,
						UVERBS_ATTR_STRUCT(struct iwt_mpa_result,
								   reserved),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_MPA_REJECT,
			    MPA_PRIVATE_DATA,
			    MPA_IN(IWT_ATTR_MPA_REQUEST, UA_MANDATORY),
			    MPA_OUT);

ADD_UVERBS_METHODS(iwt_qp_methods, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(IWT_METHOD_MPA_REQUEST),
		   &UVERBS_METHOD(IWT_METHOD_MPA_START));

ADD_UVERBS_METHODS(iwt_device_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(IWT_METHOD_MPA_REJECT));

const struct uapi_definition iwt_delayed_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &iwt_qp_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &iwt_device_methods),
	{},
};
