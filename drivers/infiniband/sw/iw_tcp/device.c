// SPDX-License-Identifier: GPL-2.0
/* Creating and removing a device, and its table of operations. */
#include "device.h"

#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include <compat/ib_ops.h>

#include "cm.h"
#include "config.h"
#include "cq.h"
#include "dev.h"
#include "gid.h"
#include "mmap.h"
#include "mr.h"
#include "mw.h"
#include "proto/first.h"
#include "qp.h"
#include "raw_dump.h"
#include "restrack.h"
#include "srq.h"
#include "stats.h"
#include "stats_errors.h"
#include "stats_port.h"
#include "stats_qp.h"
#include "verbs.h"

/* Milliseconds until do_came() tries again to acquire unregistration_lock. */
#define CAME_RETRY_MS	20
/* A device logs at most MEMLOCK_BURST messages about RLIMIT_MEMLOCK in MEMLOCK_PERIOD jiffies. */
#define MEMLOCK_BURST	3
#define MEMLOCK_PERIOD	(60 * HZ)

static LLIST_HEAD(ended);

/*
 * rdma_cm signals the RDMA core that no rdma_cm_id uses the device, and then releases the GID
 * reference of the last rdma_cm_id. If the RDMA core has deleted the GID meanwhile, this release
 * queues a work, in ib_wq, that accesses the device's GID table. If the task is preempted between
 * the signal and the release, the table could be freed before the release. So the device's memory
 * is kept until each task has left its processor voluntarily, not by preemption, at least once
 * (synchronize_rcu_tasks()), and until that work has run.
 */
static void release_ended(struct work_struct *unused)
{
	struct llist_node *list = llist_del_all(&ended);
	struct iwt_dev *dev, *next;

	synchronize_rcu_tasks();
	flush_workqueue(ib_wq);
	llist_for_each_entry_safe(dev, next, list, ended)
		put_device(&dev->ibdev.dev);
}

static DECLARE_WORK(release_work, release_ended);

/* Clean up a device without clients. Connections may still be closing (dev->n_eps). May sleep. */
static void dealloc_driver(struct ib_device *ibdev)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);

	if (dev->announced)
		ibdev_info(ibdev, "iw_tcp link on %s removed\n", netdev_name(dev->netdev));
	iwt_dev_delist(dev);
	iwt_cm_dev_drain(dev);
	WARN_ON(!xa_empty(&dev->qps));
	WARN_ON(!xa_empty(&dev->mrs));
	WARN_ON(!xa_empty(&dev->direct_waiting));
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->direct_waiting);
	iwt_counters_end(dev);
	iwt_causes_free(dev);
	iwt_stats_free(dev);
	netdev_put(dev->netdev, &dev->netdev_tracker);
	get_device(&ibdev->dev);
	llist_add(&dev->ended, &ended);
	schedule_work(&release_work);
}

/* The methods of the private ABI. */
static const struct uapi_definition uapi_defs[] = {
	UAPI_DEF_CHAIN(iwt_ring_uapi_defs),
#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
	UAPI_DEF_CHAIN(iwt_srq_uapi_defs),
#endif
#ifdef CONFIG_INFINIBAND_IW_TCP_DELAYED
	UAPI_DEF_CHAIN(iwt_delayed_uapi_defs),
#endif
	{},
};

static const struct ib_device_ops dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_IW_TCP,
	.uverbs_abi_ver = IWT_ABI_VERSION,

	.dealloc_driver = dealloc_driver,
	.query_device = iwt_query_device,
	.query_port = iwt_query_port,
	COMPAT_PORT_SPEED
	.query_gid = iwt_query_gid,
	.get_netdev = iwt_get_netdev,
	.query_pkey = iwt_query_pkey,
	.get_port_immutable = iwt_get_port_immutable,
	.get_dev_fw_str = iwt_get_fw_str,
	.alloc_ucontext = iwt_alloc_ucontext,
	.dealloc_ucontext = iwt_dealloc_ucontext,
	.disassociate_ucontext = iwt_disassociate_ucontext,
	.mmap = iwt_mmap,
	.mmap_free = iwt_mmap_entry_free,

	.alloc_pd = iwt_alloc_pd,
	.dealloc_pd = iwt_dealloc_pd,

	.get_dma_mr = iwt_get_dma_mr,
	.reg_user_mr = compat_reg_user_mr,
	.reg_user_mr_dmabuf = compat_reg_user_mr_dmabuf,
	.rereg_user_mr = iwt_rereg_user_mr,
	.advise_mr = iwt_advise_mr,
	.alloc_mr = iwt_alloc_mr,
	.map_mr_sg = iwt_map_mr_sg,
	.dereg_mr = iwt_dereg_mr,
#ifdef CONFIG_INFINIBAND_IW_TCP_WINDOWS
	.alloc_mw = iwt_alloc_mw,
	.dealloc_mw = iwt_dealloc_mw,
#endif

	.create_cq = compat_create_cq,
	.destroy_cq = iwt_destroy_cq,
	.modify_cq = iwt_modify_cq,
	.compat_op_resize_user_cq = compat_resize_user_cq,
	.poll_cq = iwt_poll_cq,
	.req_notify_cq = iwt_req_notify_cq,

#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
	.create_srq = iwt_create_srq,
	.modify_srq = iwt_modify_srq,
	.query_srq = iwt_query_srq,
	.destroy_srq = iwt_destroy_srq,
	.post_srq_recv = iwt_post_srq_recv,

#endif
	.create_qp = iwt_create_qp,
	.modify_qp = iwt_modify_qp,
	.query_qp = iwt_query_qp,
	.destroy_qp = iwt_destroy_qp,
	.post_send = iwt_post_send,
	.post_recv = iwt_post_recv,

	.iw_add_ref = iwt_qp_add_ref,
	.iw_rem_ref = iwt_qp_rem_ref,
	.iw_get_qp = iwt_get_qp,
	.iw_connect = iwt_cm_connect,
	.iw_accept = iwt_cm_accept,
	.iw_reject = iwt_cm_reject,
	.iw_create_listen = iwt_cm_create_listen,
	.iw_destroy_listen = iwt_cm_destroy_listen,

#ifdef CONFIG_INFINIBAND_IW_TCP_COUNTERS
	.alloc_hw_device_stats = iwt_causes_alloc_hw,
	.alloc_hw_port_stats = iwt_stats_alloc_hw,
	.get_hw_stats = iwt_causes_get_hw,
	.process_mad = iwt_port_process_mad,
	.device_group = &iwt_port_device_group,
	.counter_alloc_stats = iwt_counter_alloc_stats,
	.counter_bind_qp = compat_counter_bind_qp,
	.counter_unbind_qp = compat_counter_unbind_qp,
	.counter_dealloc = iwt_counter_dealloc,
	.counter_update_stats = iwt_counter_update_stats,
	.fill_res_qp_entry = iwt_fill_res_qp,
	.fill_res_cq_entry = iwt_fill_res_cq,
	.fill_res_mr_entry = iwt_fill_res_mr,
	.fill_res_qp_entry_raw = iwt_raw_qp,
	.fill_res_cq_entry_raw = iwt_raw_cq,
	.fill_res_mr_entry_raw = iwt_raw_mr,
	COMPAT_SRQ_DETAILS

	COMPAT_COUNTER_OBJ

#endif
	INIT_RDMA_OBJ_SIZE(ib_cq, iwt_cq, ibcq),
#ifdef CONFIG_INFINIBAND_IW_TCP_WINDOWS
	INIT_RDMA_OBJ_SIZE(ib_mw, iwt_mw, ibmw),
#endif
	INIT_RDMA_OBJ_SIZE(ib_pd, iwt_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, iwt_qp, ibqp),
#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
	INIT_RDMA_OBJ_SIZE(ib_srq, iwt_srq, ibsrq),
#endif
	INIT_RDMA_OBJ_SIZE(ib_ucontext, iwt_ucontext, ibuc),
};

/*
 * Clear dev->coming when the RDMA core has notified all clients of a device that has moved. Until
 * then the RDMA core holds unregistration_lock. The RDMA core also holds this lock while it
 * unregisters the device; then client_remove() waits for this work, so this work only tries to
 * acquire the lock.
 */
static void do_came(struct work_struct *work)
{
	struct iwt_dev *dev = container_of(to_delayed_work(work), struct iwt_dev, came);

	if (!mutex_trylock(&dev->ibdev.unregistration_lock)) {
		schedule_delayed_work(&dev->came, msecs_to_jiffies(CAME_RETRY_MS));
		return;
	}
	WRITE_ONCE(dev->coming, false);
	mutex_unlock(&dev->ibdev.unregistration_lock);
}

/* A device (of any driver) is new, or has moved to another network namespace. */
static int client_add(struct ib_device *ibdev)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);

	if (ibdev->ops.driver_id != (enum rdma_driver_id)RDMA_DRIVER_IW_TCP)
		return -EOPNOTSUPP;
	iwt_mr_prefetch_begin(dev);
	/* for a new device, link.c clears dev->coming */
	if (READ_ONCE(dev->moved))
		schedule_delayed_work(&dev->came, 0);
	return 0;
}

/*
 * The device is about to be unregistered, or to move. The RDMA core removes clients in reverse
 * order of registration. uverbs is not removed yet, and its removal will wait for the system
 * calls of processes: so end the prefetch calls now. After a move rdma_cm creates its listeners
 * on the device again, before or after client_add(): so dev->coming is set already now.
 */
static void client_remove(struct ib_device *ibdev, void *unused)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);

	iwt_mr_prefetch_end(dev);
	cancel_delayed_work_sync(&dev->came);
	WRITE_ONCE(dev->moved, true);
	WRITE_ONCE(dev->coming, true);
}

static struct ib_client client = {
	.name = "iw_tcp",
	.add = client_add,
	.remove = client_remove,
};

/**
 * iwt_device_init() - register the client, before the first device; may sleep
 *
 * Return: 0 or -errno.
 */
int iwt_device_init(void)
{
	/*
	 * The RDMA core removes clients in reverse order of registration, and must remove this
	 * client before uverbs (see client_remove()): so load uverbs first. With a soft
	 * dependency instead, "modprobe -r iw_tcp" would fail while uverbs is in use.
	 */
	request_module("ib_uverbs");
	return ib_register_client(&client);
}

/**
 * iwt_device_exit() - unregister the client, when no device is left; may sleep
 *
 * Returns when the memory of all devices has been released.
 */
void iwt_device_exit(void)
{
	ib_unregister_client(&client);
	flush_work(&release_work);
}

static void init_ibdev(struct iwt_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_online_cpus();
	ibdev->local_dma_lkey = IWT_LOCAL_DMA_LKEY;
	ibdev->driver_def = uapi_defs;
	/* The driver uses TCP's own port space, so ports need no mapping. */
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(ibdev->iw_ifname, dev->netdev->name, sizeof(ibdev->iw_ifname));
	strscpy(ibdev->node_desc, "iw_tcp", sizeof(ibdev->node_desc));
	iwt_dev_enlist(dev);
}

/**
 * iwt_dev_add() - create and register a device
 * @name: name of the device, chosen by the user
 * @netdev: the net device below; the caller holds a reference
 * @net: namespace of @netdev; the caller holds a reference
 *
 * Process context, may sleep; the caller must not hold RTNL. The device belongs to @net, unless
 * all namespaces share devices. The functions ib_unregister_*() of the RDMA core remove the
 * device. When this function returns, @netdev may have left @net: the caller has to check this.
 *
 * Return: 0 or -errno.
 */
int iwt_dev_add(const char *name, struct net_device *netdev, struct net *net)
{
	struct iwt_dev *dev;
	int ret;

	dev = ib_alloc_device_with_net(iwt_dev, ibdev, net);
	if (!dev)
		return -ENOMEM;
	/* From here on ib_dealloc_device() calls dealloc_driver(). */
	ib_set_device_ops(&dev->ibdev, &dev_ops);
	netdev_hold(netdev, &dev->netdev_tracker, GFP_KERNEL);
	dev->netdev = netdev;
	RCU_INIT_POINTER(dev->net, net);
	dev->coming = true;
	dev->made = jiffies;
	INIT_DELAYED_WORK(&dev->came, do_came);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->mrs, XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->direct_waiting, XA_FLAGS_ACCOUNT);
	dev->next_counter = IWT_FIRST_UP_TO(INT_MAX);
	mutex_init(&dev->past_mutex);
	spin_lock_init(&dev->windows_lock);
	ratelimit_state_init(&dev->memlock_said, MEMLOCK_PERIOD, MEMLOCK_BURST);
	iwt_conf_defaults(&dev->conf);
	iwt_dev_set_addr(dev);
	iwt_gid_setup(dev);
	init_ibdev(dev);
	ib_mark_name_assigned_by_user(&dev->ibdev);

	ret = iwt_stats_init(dev);
	if (ret)
		goto err_dealloc;
	ret = iwt_causes_init(dev);
	if (ret)
		goto err_dealloc;
	ret = ib_device_set_netdev(&dev->ibdev, netdev, 1);
	if (ret)
		goto err_dealloc;
	ret = ib_register_device(&dev->ibdev, name, NULL);
	if (ret)
		goto err_dealloc;
	return 0;

err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}
