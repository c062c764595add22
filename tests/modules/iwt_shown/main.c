// SPDX-License-Identifier: GPL-2.0
/*
 * Dumps objects of an RDMA device after the driver has destroyed them.
 *
 * Some kernels hide an object from netlink ("rdma resource show") only after the driver has
 * destroyed the object, so a dump may still reach the destroyed object. This module replaces
 * destroy_qp(), destroy_cq() and destroy_srq() of one device. After the destruction of a queue,
 * the new functions dump the queue by the functions that netlink calls. (Kernels before Linux
 * 6.11 cannot dump shared receive queues.) The parameter "netdevice" is the name of the net
 * device of the RDMA device, in the network namespace of the process that loads the module.
 *
 * The other parameters are counters: "qps", "cqs" and "srqs" count destroyed objects, "failed"
 * counts dumps that failed. A raw dump contains a flag that is set if a process, not a consumer
 * in the kernel, owns the queue; "mistaken" counts raw dumps in which this flag contradicts the
 * member uobject of RDMA core's object (NULL for a consumer in the kernel).
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <net/netlink.h>
#include <rdma/ib_verbs.h>

#include "../../../include/uapi/rdma/iw_tcp-raw.h"

static char *netdevice = "";
module_param(netdevice, charp, 0400);

static unsigned int qps, cqs, srqs, failed, mistaken;
module_param(qps, uint, 0400);
module_param(cqs, uint, 0400);
module_param(srqs, uint, 0400);
module_param(failed, uint, 0400);
module_param(mistaken, uint, 0400);

static struct ib_device *dev;
static struct ib_device_ops was;

/* Two calls for different objects may count at the same time; then one count is lost. */
#define SHOW_AND(fill, object, look)					\
do {									\
	struct sk_buff *msg = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);	\
									\
	if (!msg || (fill)(msg, object))				\
		failed++;						\
	else								\
		look;							\
	nlmsg_free(msg);						\
} while (0)

#define SHOW(fill, object)	SHOW_AND(fill, object, (void)0)

/* @bit: bit of the member "flags" of a raw dump that must be set if a process owns the object */
#define SHOW_RAW(fill, object, raw, bit)				\
	SHOW_AND(fill, object, mistaken += !(object)->uobject !=	\
		 !(((const raw *)nla_data((const struct nlattr *)msg->data))->flags & (bit)))

static int end_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	int ret = was.destroy_qp(qp, udata);

	if (!ret) {
		SHOW(was.fill_res_qp_entry, qp);
		SHOW_RAW(was.fill_res_qp_entry_raw, qp, struct iwt_raw_qp, IWT_RAW_QP_USER);
		qps++;
	}
	return ret;
}

static int end_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	int ret = was.destroy_cq(cq, udata);

	if (!ret) {
		SHOW(was.fill_res_cq_entry, cq);
		SHOW(was.fill_res_cq_entry_raw, cq);
		cqs++;
	}
	return ret;
}

static int end_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	int ret = was.destroy_srq(srq, udata);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	if (!ret) {
		SHOW(was.fill_res_srq_entry, srq);
		SHOW_RAW(was.fill_res_srq_entry_raw, srq, struct iwt_raw_srq, IWT_RAW_SRQ_USER);
	}
#endif
	srqs += !ret;
	return ret;
}

static int __init shown_init(void)
{
	struct net_device *netdev = dev_get_by_name(current->nsproxy->net_ns, netdevice);

	if (!netdev)
		return -ENODEV;
	dev = ib_device_get_by_netdev(netdev, RDMA_DRIVER_UNKNOWN);
	dev_put(netdev);
	if (!dev)
		return -ENODEV;
	was = dev->ops;
	dev->ops.destroy_qp = end_qp;
	dev->ops.destroy_cq = end_cq;
	dev->ops.destroy_srq = end_srq;
	return 0;
}

/* The test ensures that no object of the device is destroyed while the module is unloaded. */
static void __exit shown_exit(void)
{
	dev->ops.destroy_qp = was.destroy_qp;
	dev->ops.destroy_cq = was.destroy_cq;
	dev->ops.destroy_srq = was.destroy_srq;
	ib_device_put(dev);
}

module_init(shown_init);
module_exit(shown_exit);
MODULE_DESCRIPTION("Shows objects of an RDMA device behind their end");
MODULE_LICENSE("GPL");
