// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Registration of the provider with libibverbs, and contexts. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/ib_user_verbs.h>

#include "iw_tcp.h"
#include "iw_tcp_abi.h"
#include "compat/compat.h"

/* The features that this provider supports. */
#define IWT_FEATURES_KNOWN	(IWT_FEATURE_RFC7306 | IWT_FEATURE_DEFERRED | \
				 IWT_FEATURE_WINDOWS | \
				 IWT_FEATURE_SRQ_DOORBELL)

/* The kernel encodes the version of the module as major << 32 | minor << 16 | patch. */
static int iwt_query_device_ex(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr,
			       size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32),
		 (unsigned int)(version >> 16) & 0xffff,
		 (unsigned int)version & 0xffff);

	return 0;
}

/*
 * Reads the clock of completion timestamps, in nanoseconds. If tv_nsec has 64 bits, it contains
 * the whole value, as for other devices: programs may read only tv_nsec.
 */
static int iwt_query_rt_values(struct ibv_context *context,
			       struct ibv_values_ex *values)
{
	struct timespec now;

	/* in: the mask of requested values; out: the mask of returned values */
	values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
	if (!values->comp_mask)
		return 0;
	if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
		return errno;
	if (sizeof(now.tv_nsec) >= 8) {
		now.tv_nsec += now.tv_sec * 1000000000;
		now.tv_sec = 0;
	}
	values->raw_clock = now;

	return 0;
}

static int iwt_query_port(struct ibv_context *context, uint8_t port_num,
			  struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd = {};

	return ibv_cmd_query_port(context, port_num, attr, &cmd, sizeof(cmd));
}

static void iwt_free_context(struct ibv_context *ibctx)
{
	struct iwt_context *ctx = to_iwt_context(ibctx);

	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops iwt_context_ops = {
	.advise_mr = iwt_advise_mr,
	.alloc_mw = iwt_alloc_mw,
	.alloc_parent_domain = iwt_alloc_parent_domain,
	.alloc_pd = iwt_alloc_pd,
	.alloc_td = iwt_alloc_td,
	.bind_mw = iwt_bind_mw,
	.create_cq = iwt_create_cq,
	.create_cq_ex = iwt_create_cq_ex,
	.create_qp = iwt_create_qp,
	.create_qp_ex = iwt_create_qp_ex,
	.create_srq = iwt_create_srq,
	.dealloc_mw = iwt_dealloc_mw,
	.dealloc_pd = iwt_dealloc_pd,
	.dealloc_td = iwt_dealloc_td,
	.dereg_mr = iwt_dereg_mr,
	.destroy_cq = iwt_destroy_cq,
	.modify_cq = iwt_modify_cq,
	.destroy_qp = iwt_destroy_qp,
	.destroy_srq = iwt_destroy_srq,
	.free_context = iwt_free_context,
	.modify_qp = iwt_modify_qp,
	.modify_srq = iwt_modify_srq,
	.poll_cq = iwt_poll_cq,
	.post_recv = iwt_post_recv,
	.post_send = iwt_post_send,
	.post_srq_recv = iwt_post_srq_recv,
	.query_device_ex = iwt_query_device_ex,
	.query_port = iwt_query_port,
	COMPAT_QUERY_PORT_SPEED
	.query_qp = iwt_query_qp,
	.query_rt_values = iwt_query_rt_values,
	.query_srq = iwt_query_srq,
	.reg_dmabuf_mr = iwt_reg_dmabuf_mr,
	.reg_mr = iwt_reg_mr,
	.req_notify_cq = iwt_req_notify_cq,
	.rereg_mr = iwt_rereg_mr,
	.resize_cq = iwt_resize_cq,
};

static int iwt_get_context(struct iwt_context *ctx)
{
	struct iwt_cmd_get_context cmd = {};
	struct iwt_cmd_get_context_resp resp = {};
	int ret;

	cmd.features = IWT_FEATURES_KNOWN;
	ret = ibv_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd), NULL,
				  &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;

	/* a newer kernel may return features that were not requested */
	ctx->features = resp.features & IWT_FEATURES_KNOWN;

	return 0;
}

static struct verbs_context *iwt_alloc_context(struct ibv_device *device,
					       int cmd_fd, void *private_data)
{
	struct iwt_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx,
					   RDMA_DRIVER_IW_TCP);
	if (!ctx)
		return NULL;

	ret = iwt_get_context(ctx);
	if (ret) {
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		errno = ret;
		return NULL;
	}
	verbs_set_ops(&ctx->vctx, &iwt_context_ops);

	return &ctx->vctx;
}

static struct verbs_device *iwt_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	struct iwt_device *dev;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;

	return &dev->vdev;
}

static void iwt_uninit_device(struct verbs_device *vdev)
{
	free(to_iwt_device(vdev));
}

static const struct verbs_match_ent iwt_match_table[] = {
	VERBS_DRIVER_ID(RDMA_DRIVER_IW_TCP),
	{},
};

static const struct verbs_device_ops iwt_device_ops = {
	.name = "iw_tcp",
	.match_min_abi_version = IWT_ABI_VERSION,
	.match_max_abi_version = IWT_ABI_VERSION,
	.match_table = iwt_match_table,
	.alloc_context = iwt_alloc_context,
	.alloc_device = iwt_alloc_device,
	.uninit_device = iwt_uninit_device,
};

/* Does this provider drive the device? */
bool iwt_is_iw_tcp(struct ibv_device *device)
{
	return verbs_get_device(device)->ops == &iwt_device_ops;
}

PROVIDER_DRIVER(iw_tcp, iwt_device_ops);
