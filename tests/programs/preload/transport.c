// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD library: shows each RDMA device to the program as a device with the transport type
 * InfiniBand. UCX refuses devices of other types. With this library a test shows that nothing else
 * prevents UCX from using a link with direct connections.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stddef.h>

/* UCX loads libibverbs itself, so RTLD_NEXT would not find it. */
struct ibv_device **ibv_get_device_list(int *num)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);
	struct ibv_device **(*next)(int *);
	struct ibv_device **list;
	int i, n = 0;

	next = (typeof(next))dlvsym(lib, "ibv_get_device_list", "IBVERBS_1.1");
	list = next(&n);
	for (i = 0; list && i < n; i++) {
		list[i]->node_type = IBV_NODE_CA;
		list[i]->transport_type = IBV_TRANSPORT_IB;
	}
	if (num)
		*num = n;
	return list;
}
