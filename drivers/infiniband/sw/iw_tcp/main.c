// SPDX-License-Identifier: GPL-2.0
/* Software iWARP over TCP: initializes the parts of the module, and cleans them up. */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "cm.h"
#include "cm_direct.h"
#include "config.h"
#include "device.h"
#include "link.h"
#include "mmap.h"
#include "mr_odp_pager.h"
#include "sock.h"
#include "stats_errors.h"
#include "tx_buf.h"
#include "tx_zc.h"
#include "version.h"
#include "wake.h"

static int __init iwt_init(void)
{
	int ret = iwt_sock_init();

	if (ret)
		return ret;
	iwt_causes_load();
	ret = iwt_txbuf_init();
	if (ret)
		goto no_txbuf;
	ret = iwt_idle_cpu_init();
	if (ret)
		goto no_idle_cpu;
	ret = iwt_pager_init();
	if (ret)
		goto no_pager;
	ret = iwt_cm_delayed_init();
	if (ret)
		goto no_cm_delayed;
	ret = iwt_direct_init();
	if (ret)
		goto no_direct;
	ret = iwt_cm_init();
	if (ret)
		goto no_cm;
	ret = iwt_conf_init();
	if (ret)
		goto no_conf;
	ret = iwt_device_init();
	if (ret)
		goto no_device;
	ret = iwt_link_init();
	if (ret)
		goto no_link;
	return 0;

no_link:
	iwt_device_exit();
no_device:
	iwt_conf_exit();
no_conf:
	iwt_cm_exit();
no_cm:
	iwt_direct_exit();
no_direct:
	iwt_cm_delayed_exit();
no_cm_delayed:
	iwt_pager_exit();
no_pager:
	iwt_idle_cpu_exit();
no_idle_cpu:
	iwt_txbuf_exit();
no_txbuf:
	iwt_sock_exit();
	return ret;
}

static void __exit iwt_exit(void)
{
	iwt_link_exit();
	iwt_device_exit();
	iwt_mmap_exit();
	iwt_conf_exit();
	iwt_cm_exit();
	iwt_direct_exit();
	iwt_cm_delayed_exit();
	iwt_pager_exit();
	iwt_idle_cpu_exit();
	iwt_sock_exit();
	iwt_zc_exit();
	iwt_txbuf_exit();
}

module_init(iwt_init);
module_exit(iwt_exit);

MODULE_DESCRIPTION("Software iWARP over TCP");
MODULE_LICENSE("GPL");
MODULE_VERSION(IWT_VERSION);
MODULE_ALIAS_RDMA_LINK("iw_tcp");
