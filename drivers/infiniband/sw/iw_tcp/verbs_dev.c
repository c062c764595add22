// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on the device, its port, contexts of processes and protection domains. */
#include "verbs.h"

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <rdma/ib_mad.h>

#include <compat/ib_ops.h>

#include "dev.h"
#include "version.h"

/* "iwt" in ASCII: a software device has no hardware vendor. */
#define VENDOR_ID	0x697774
/* Features that the driver supports. A process may use a feature if its provider supports it. */
static const u64 features = IWT_FEATURE_RFC7306
#ifdef CONFIG_INFINIBAND_IW_TCP_POLLING
			    | IWT_FEATURE_DEFERRED
#endif
#ifdef CONFIG_INFINIBAND_IW_TCP_WINDOWS
			    | IWT_FEATURE_WINDOWS
#endif
#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
			    | IWT_FEATURE_SRQ_DOORBELL
#endif
			    ;
/* Assumed speed of a net device that does not report its speed, in Mb/s. */
#define DEFAULT_SPEED	10000

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
/* On-demand paging works for all operations, and for the whole address space. */
static void set_odp_caps(struct ib_device_attr *attr)
{
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV;
}
#endif

/**
 * iwt_query_device() - ib_device operation query_device
 * @ibdev: device
 * @attr: attributes that this function fills in; RDMA core has zeroed them
 * @udata: private data of the process, which must be zero; NULL for a kernel consumer
 *
 * May sleep.
 *
 * Return: 0, or -EOPNOTSUPP if the private data of the process is not zero.
 */
int iwt_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		     struct ib_udata *udata)
{
	int err = udata ? iwt_udata_known(udata, 0) : 0;

	if (err)
		return err;

	attr->fw_ver = (u64)IWT_VERSION_MAJOR << 32 | IWT_VERSION_MINOR << 16 |
		       IWT_VERSION_PATCH;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = 1;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_SG_GAPS_REG |
				 IBK_ALLOW_USER_UNREG;
#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
	set_odp_caps(attr);
#endif
	/* the CPU's atomic instructions make these operations atomic for programs, too */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->masked_atomic_cap = IB_ATOMIC_GLOB;

	attr->max_qp = IWT_MAX_QP;
	attr->max_qp_wr = IWT_MAX_QP_WR;
	attr->max_send_sge = IWT_MAX_SGE;
	attr->max_recv_sge = IWT_MAX_SGE;
	/* a Read Request has one data sink (RFC 5040 4.4) */
	attr->max_sge_rd = 1;
	attr->max_qp_rd_atom = IWT_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = IWT_MAX_RD_ATOM;
	attr->max_res_rd_atom = IWT_MAX_RD_ATOM * IWT_MAX_QP;
	attr->max_cq = IWT_MAX_CQ;
	attr->max_cqe = IWT_MAX_CQE;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	/* timestamps of completions are CLOCK_MONOTONIC_RAW in nanoseconds */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = NSEC_PER_SEC / 1000; /* kHz */
#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
	attr->device_cap_flags |= IB_DEVICE_SRQ_RESIZE;
	attr->max_srq = IWT_MAX_SRQ;
	attr->max_srq_wr = IWT_MAX_SRQ_WR;
	attr->max_srq_sge = IWT_MAX_SGE;
#endif
	attr->max_pd = IWT_MAX_PD;
	attr->max_mr = IWT_MAX_MR;
#ifdef CONFIG_INFINIBAND_IW_TCP_WINDOWS
	/* a window of type 2 belongs to a queue pair and a protection domain: this is type 2B */
	attr->device_cap_flags |= IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->max_mw = IWT_MAX_MW;
#endif
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = ~(u64)(SZ_4K - 1);
	attr->max_fast_reg_page_list_len = IWT_MAX_FR_PAGES;
	attr->max_pkeys = 1;
	return 0;
}

/* Link speeds of Ethernet, and the closest InfiniBand speeds. */
static const struct {
	u32 mbps;
	u16 speed;
	u8 width;
} speeds[] = {
	{ 2500, IB_SPEED_SDR, IB_WIDTH_1X },
	{ 5000, IB_SPEED_DDR, IB_WIDTH_1X },
	{ 10000, IB_SPEED_FDR10, IB_WIDTH_1X },
	{ 20000, IB_SPEED_DDR, IB_WIDTH_4X },
	{ 25000, IB_SPEED_EDR, IB_WIDTH_1X },
	{ 40000, IB_SPEED_FDR10, IB_WIDTH_4X },
	{ 50000, IB_SPEED_HDR, IB_WIDTH_1X },
	{ 100000, IB_SPEED_EDR, IB_WIDTH_4X },
	{ 200000, IB_SPEED_HDR, IB_WIDTH_4X },
	{ 400000, IB_SPEED_NDR, IB_WIDTH_4X },
};

static u32 netdev_mbps(struct net_device *netdev)
{
	struct ethtool_link_ksettings ks = {};
	u32 mbps = DEFAULT_SPEED;

	rtnl_lock();
	if (netdev->reg_state == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(netdev, &ks) &&
	    ks.base.speed && ks.base.speed != (u32)SPEED_UNKNOWN)
		mbps = ks.base.speed;
	rtnl_unlock();
	return mbps;
}

static void fill_speed(struct net_device *netdev, struct ib_port_attr *attr)
{
	u32 mbps = netdev_mbps(netdev);
	int i = 0;

	while (i < ARRAY_SIZE(speeds) - 1 && speeds[i].mbps < mbps)
		i++;
	attr->active_speed = speeds[i].speed;
	attr->active_width = speeds[i].width;
}

/**
 * iwt_query_port() - ib_device operation query_port
 * @ibdev: device
 * @port: 1
 * @attr: attributes that this function fills in; RDMA core has set defaults
 *
 * Takes RTNL, may sleep.
 *
 * Return: 0.
 */
int iwt_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct net_device *netdev = to_iwt_dev(ibdev)->netdev;

	fill_speed(netdev, attr);
	attr->max_mtu = ib_mtu_int_to_enum(netdev->max_mtu ? netdev->max_mtu :
							     INT_MAX);
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(netdev->mtu));
	attr->max_mtu = max(attr->max_mtu, attr->active_mtu);
	/* RDMA core's default for a port without an IPv4 address would be IB_PORT_INIT */
	attr->state = ib_get_curr_port_state(netdev);
	attr->phys_state = attr->state == IB_PORT_ACTIVE ?
		IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->gid_tbl_len = IWT_GIDS;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = IWT_MAX_MSG;
	return 0;
}

/**
 * iwt_query_port_speed() - ib_device operation query_port_speed
 * @ibdev: device
 * @port: 1
 * @speed: set to the speed of the net device in units of 100 Mb/s, rounded up
 *
 * The operation query_port can report only the speeds of InfiniBand; this operation reports any
 * speed. Takes RTNL, may sleep.
 *
 * Return: 0.
 */
int iwt_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed)
{
	*speed = DIV_ROUND_UP(netdev_mbps(to_iwt_dev(ibdev)->netdev), 100);
	return 0;
}

/**
 * iwt_query_pkey() - ib_device operation query_pkey
 * @ibdev: device
 * @port: 1
 * @index: 0
 * @pkey: set to the key of the default partition
 *
 * iWARP has no partitions, but rdma_cm resolves a loopback address only to a port that has a
 * partition key. Any context.
 *
 * Return: 0, or -EINVAL if @index is not 0.
 */
int iwt_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

/**
 * iwt_get_port_immutable() - ib_device operation get_port_immutable
 * @ibdev: device
 * @port: 1
 * @imm: attributes that never change; this function fills them in
 *
 * Any context.
 *
 * Return: 0.
 */
int iwt_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *imm)
{
	imm->gid_tbl_len = IWT_GIDS;
	imm->pkey_tbl_len = 1;
	imm->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/* ib_device operation get_dev_fw_str. @str: buffer for the version of the module. Any context. */
void iwt_get_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, IWT_VERSION, IB_FW_VERSION_NAME_MAX);
}

/**
 * iwt_udata_known() - check that the unknown part of a process's private data is zero
 * @udata: private data of the request
 * @known: length of the known part, in bytes
 *
 * May sleep.
 *
 * Return: 0, or -EOPNOTSUPP if the unknown part is not zero.
 */
int iwt_udata_known(struct ib_udata *udata, size_t known)
{
	if (udata->inlen > known &&
	    !ib_is_udata_cleared(udata, known, udata->inlen - known))
		return -EOPNOTSUPP;
	return 0;
}

/**
 * iwt_alloc_ucontext() - ib_device operation alloc_ucontext
 * @uc: context, allocated by RDMA core
 * @udata: the request is struct iwt_uctx_req, the response is struct iwt_uctx_resp
 *
 * With an older provider, both structures may be shorter than in this module: the missing part of
 * the request counts as zero. With a newer provider, the request may be longer: then the
 * unknown part must be zero. May sleep.
 *
 * Return: 0; -EOPNOTSUPP if the unknown part of the request is not zero; or another -errno.
 */
int iwt_alloc_ucontext(struct ib_ucontext *uc, struct ib_udata *udata)
{
	struct iwt_uctx_req req = {};
	struct iwt_uctx_resp resp = {};
	int ret;

	ret = iwt_udata_known(udata, sizeof(req));
	if (!ret)
		ret = ib_copy_from_udata(&req, udata,
					 min(sizeof(req), udata->inlen));
	if (ret)
		return ret;
	resp.features = req.features & features;
	container_of(uc, struct iwt_ucontext, ibuc)->features = resp.features;
	return ib_copy_to_udata(udata, &resp,
				min(sizeof(resp), udata->outlen));
}

/**
 * iwt_dealloc_ucontext() - ib_device operation dealloc_ucontext
 * @uc: context; its objects are already destroyed
 *
 * This function has nothing to do: RDMA core frees the context.
 */
void iwt_dealloc_ucontext(struct ib_ucontext *uc)
{
}

/**
 * iwt_disassociate_ucontext() - ib_device operation disassociate_ucontext
 * @uc: context of a process that has the device open while the device is removed
 *
 * This function has nothing to do: RDMA core destroys the objects of the context, and a mapping
 * of the process refers only to the mapped pages, not to the device.
 */
void iwt_disassociate_ucontext(struct ib_ucontext *uc)
{
}

/**
 * iwt_alloc_pd() - ib_device operation alloc_pd
 * @pd: protection domain, allocated by RDMA core
 * @udata: private data of the process, which must be zero; NULL for a kernel consumer
 *
 * May sleep.
 *
 * Return: 0, -EOPNOTSUPP if the private data is not zero, or -ENOMEM if the device already has
 * %IWT_MAX_PD protection domains.
 */
int iwt_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int err = udata ? iwt_udata_known(udata, 0) : 0;

	return err ?: iwt_dev_take(&to_iwt_dev(pd->device)->n_pds, IWT_MAX_PD);
}

/**
 * iwt_dealloc_pd() - ib_device operation dealloc_pd
 * @pd: protection domain; RDMA core makes sure that nobody uses it any more
 * @udata: unused
 *
 * Any context.
 *
 * Return: 0.
 */
int iwt_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	atomic_dec(&to_iwt_dev(pd->device)->n_pds);
	return 0;
}
