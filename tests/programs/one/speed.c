// SPDX-License-Identifier: GPL-2.0
/*
 * The speed of a link's port, as ibv_query_port_speed() of newer libraries reports it. This
 * program calls the kernel itself, because older libraries have no such function.
 *
 *	iwt_speed query DEVICE PORT	prints the speed in units of 100 Mb/s; status 4: this kernel
 *					has no such query
 *	iwt_speed set NETDEV MBPS	sets the speed that a tap device reports
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/iw_tcp-abi.h>
#include <rdma/rdma_user_ioctl.h>

/* Numbers of Linux 7.2, which older headers lack */
#define QUERY_PORT_SPEED	7
#define SPEED_PORT_NUM		0
#define SPEED_RESP		1

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);

	return context;
}

static int query(const char *device, uint32_t port)
{
	uint64_t speed = 0;
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} call = {
		.hdr = {
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = QUERY_PORT_SPEED,
			.driver_id = RDMA_DRIVER_IW_TCP,
			.length = sizeof(call),
			.num_attrs = 2,
		},
		.attr = {
			{ .attr_id = SPEED_PORT_NUM, .len = sizeof(uint64_t),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = port },
			{ .attr_id = SPEED_RESP, .len = sizeof(speed),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&speed },
		},
	};
	struct ibv_context *context = open_device(device);

	if (!context) {
		fprintf(stderr, "%s: %s\n", device, strerror(errno));
		return 1;
	}
	if (ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, &call)) {
		fprintf(stderr, "port %u: %s\n", port, strerror(errno));
		return errno == EPROTONOSUPPORT ? 4 : 1;
	}
	printf("%llu\n", (unsigned long long)speed);

	return 0;
}

static int set(const char *netdev, uint32_t mbps)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_SSET };
	struct ifreq request = { .ifr_data = (void *)&cmd };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	ethtool_cmd_speed_set(&cmd, mbps);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request)) {
		perror(netdev);
		return 1;
	}

	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "query"))
		return query(argv[2], atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "set"))
		return set(argv[2], atoi(argv[3]));
	fprintf(stderr, "usage: iwt_speed query DEVICE PORT | set NETDEV MBPS\n");

	return 2;
}
