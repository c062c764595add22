/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef IW_TCP_ABI_H
#define IW_TCP_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/iw_tcp-abi.h>
#include <kernel-abi/iw_tcp-abi.h>

DECLARE_DRV_CMD(iwt_cmd_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		iwt_uctx_req, iwt_uctx_resp);
DECLARE_DRV_CMD(iwt_cmd_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, iwt_create_cq_resp);
DECLARE_DRV_CMD(iwt_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, iwt_resize_cq_resp);
DECLARE_DRV_CMD(iwt_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		empty, iwt_create_srq_resp);
DECLARE_DRV_CMD(iwt_cmd_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		empty, iwt_create_qp_resp);
DECLARE_DRV_CMD(iwt_cmd_reg_mr, IB_USER_VERBS_CMD_REG_MR,
		empty, iwt_reg_mr_resp);

#endif
