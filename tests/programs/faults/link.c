// SPDX-License-Identifier: GPL-2.0
/* Steps of iwt_faults: the module, links, their settings and net devices. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "faults.h"

/* ---- the module ---- */

/* Returns the path of the module's file. The module need not be loaded. */
static const char *module_file(void)
{
	static char path[512];
	FILE *f;

	if (*path)
		return path;
	f = popen("modinfo -n iw_tcp", "r");
	if (!f || !fgets(path, sizeof(path), f))
		iwt_die("modinfo");
	pclose(f);
	path[strcspn(path, "\n")] = 0;
	return path;
}

/* Closes @fd. Allocations do not fail meanwhile, and errno does not change. */
static void close_unseen(int fd)
{
	unsigned int left = iwt_pause();
	int error = errno;

	close(fd);
	errno = error;
	iwt_resume(left);
}

static int load(const char *parameters)
{
	unsigned int left = iwt_pause();
	int rc, fd = open(module_file(), O_RDONLY);

	if (fd < 0)
		iwt_die(module_file());
	iwt_resume(left);
	rc = syscall(SYS_finit_module, fd, parameters, 0);
	close_unseen(fd);
	return rc;
}

int iwt_module_load(void) { return load(""); }

/*
 * Returns the number of the first allocation that may fail while the module is loaded. The kernel
 * itself makes the earlier allocations, before it reads the module's parameters. Some of them are
 * for trace events; if such an allocation fails, the kernel prints a warning. To count the
 * earlier allocations, this function loads the module with a wrong parameter.
 */
unsigned int iwt_module_first(void)
{
	unsigned int most = 100000, left;

	iwt_arm(most);
	if (!load("mpa_revision=9"))
		iwt_die("a parameter that is none");
	left = iwt_pause();
	return most - left + 1;
}

int iwt_module_unload(void)
{
	return syscall(SYS_delete_module, "iw_tcp", O_NONBLOCK);
}

/* ---- links ---- */

union message {
	struct nlmsghdr h;
	char room[512];
};

static void attribute(struct nlmsghdr *h, uint16_t type, const void *value, size_t len)
{
	struct nlattr *a = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, value, len);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static void text(struct nlmsghdr *h, uint16_t type, const char *value)
{
	attribute(h, type, value, strlen(value) + 1);
}

static int netlink(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (fd < 0)
		iwt_die("netlink");
	return fd;
}

/*
 * Sends a request. The answer only reports success or an error. If the kernel has no memory for
 * the answer, the kernel sends no answer, although it may have fulfilled the request. Return: 0
 * if the answer reports success, otherwise -1.
 */
static int request(struct nlmsghdr *h)
{
	char answer[4096];
	struct nlmsghdr *a = (void *)answer;
	struct nlmsgerr *e = NLMSG_DATA(a);
	unsigned int left = iwt_pause();
	int fd = netlink();
	ssize_t n;

	iwt_resume(left);
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (send(fd, h, h->nlmsg_len, 0) < 0)
		return -1;
	left = iwt_pause();
	n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	iwt_resume(left);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*e)) || a->nlmsg_type != NLMSG_ERROR)
		return -1;
	errno = -e->error;
	return e->error ? -1 : 0;
}

/*
 * Return: true if the device exists. A request may have been fulfilled, although its answer is
 * lost.
 */
static bool is_there(const char *name)
{
	int error = errno;
	char path[200];
	bool there;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	there = !access(path, F_OK);
	errno = error;
	return there;
}

static int add_on(const char *name, const char *ndev)
{
	union message m = {
		.h.nlmsg_len = NLMSG_HDRLEN,
		.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK),
	};
	unsigned int left;
	int rc;

	text(&m.h, RDMA_NLDEV_ATTR_DEV_NAME, name);
	text(&m.h, RDMA_NLDEV_ATTR_LINK_TYPE, "iw_tcp");
	text(&m.h, RDMA_NLDEV_ATTR_NDEV_NAME, ndev);
	rc = request(&m.h);
	left = iwt_pause();
	/* RDMA core returns ENFILE if the name is in use */
	if (rc && errno != EEXIST && errno != ENFILE && is_there(name))
		rc = 0;
	iwt_resume(left);
	return rc;
}

static int del(const char *name)
{
	char command[200];

	snprintf(command, sizeof(command), "rdma link delete %s", name);
	return system(command);
}

int iwt_link_add(void) { return add_on(iwt_link, iwt_netdev); }
int iwt_link_del(void) { return del(iwt_link); }

/* Deletes the link in this thread, so that the allocations of the deletion may fail. */
int iwt_link_drop(void)
{
	union message m = {
		.h.nlmsg_len = NLMSG_HDRLEN,
		.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_DELLINK),
	};
	unsigned int left = iwt_pause();
	char command[200];
	uint32_t index;
	FILE *f;
	int rc;

	snprintf(command, sizeof(command), "rdma dev show %s", iwt_link);
	f = popen(command, "r");
	if (!f || fscanf(f, "%u", &index) != 1)
		iwt_die(command);
	pclose(f);
	attribute(&m.h, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	iwt_resume(left);
	rc = request(&m.h);
	left = iwt_pause();
	if (rc && !is_there(iwt_link))
		rc = 0;
	iwt_resume(left);
	return rc;
}

/*
 * Returns the number of allocations during the creation of a link, before RDMA core checks the
 * link's name. RDMA core itself makes the later allocations, and leaks memory if the allocations
 * for the tables of uverbs fail. To count, this function tries to create a second link of the
 * same name; this fails at the check of the name.
 */
unsigned int iwt_link_most(void)
{
	unsigned int n = 100000;

	if (iwt_link_add())
		iwt_die("a link");
	iwt_arm(n);
	if (!add_on(iwt_link, "lo"))
		iwt_die("two links of one name");
	/* the answer to the refused request needs two allocations */
	n -= iwt_pause() + 2;
	if (iwt_link_del())
		iwt_die("a link goes");
	return n;
}

/* Name of another link, which has no traffic */
static char second[100];

int iwt_second_add(void)
{
	snprintf(second, sizeof(second), "%s-lo", iwt_link);
	return add_on(second, "lo");
}

int iwt_second_del(void) { return is_there(second) ? del(second) : 0; }

/* ---- settings ---- */

static const char *settings(void)
{
	static char path[200];

	snprintf(path, sizeof(path), "/sys/kernel/config/iw_tcp/%s", iwt_link);
	return path;
}

int iwt_settings_make(void) { return mkdir(settings(), 0755); }
int iwt_settings_remove(void) { return rmdir(settings()); }

void iwt_set(const char *setting, const char *value)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", settings(), setting);
	iwt_put(path, value);
}

/* ---- events of the net device ---- */

static int ask(int fd, unsigned long what, struct ifreq *r)
{
	snprintf(r->ifr_name, sizeof(r->ifr_name), "%s", iwt_netdev);
	return ioctl(fd, what, r);
}

static int events(int fd)
{
	struct ifreq address, flags;

	if (ask(fd, SIOCGIFHWADDR, &address) || ask(fd, SIOCGIFFLAGS, &flags))
		return -1;
	address.ifr_hwaddr.sa_data[5]++;
	if (ask(fd, SIOCSIFHWADDR, &address))
		return -1;
	flags.ifr_flags &= ~IFF_UP;
	if (ask(fd, SIOCSIFFLAGS, &flags))
		return -1;
	flags.ifr_flags |= IFF_UP;
	return ask(fd, SIOCSIFFLAGS, &flags);
}

/* Changes the address of the net device, sets the device down, then up. */
int iwt_netdev_events(void)
{
	unsigned int left = iwt_pause();
	int rc, fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		iwt_die("socket");
	iwt_resume(left);
	rc = events(fd);
	close_unseen(fd);
	return rc;
}

int iwt_nothing(void) { return 0; }
