// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_faults LINK NETDEV ADDRESS: allocations of the kernel that fail.
 *
 * Makes a link, one object of each kind, and a connection with itself by way of
 * ADDRESS, which NETDEV has. Each of these steps is tried with its first allocation
 * failing, then with its second one, and so on, until it has no more of them. It must
 * fail with an error, or do without, and leave nothing behind, which the kernel's
 * checkers and the gate of the laboratory judge. Results in TAP.
 *
 * What fails are allocations of slabs and pages by this process in the kernel
 * (/proc/thread-self/fail-nth); those that other threads of the kernel make for it
 * do not. IWT_FAULTS_VERBOSE=2: the kernel says where each is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_netlink.h>

#define MOST	2000	/* allocations of one step */
#define PORT	7479

static const char *link_name, *netdev, *address;
static int fail_nth, netlink;
static unsigned int n_tests, n_bad;

static struct ibv_device *device;
static struct ibv_context *dev;
static struct ibv_pd *pd;
static struct ibv_comp_channel *chan;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t memory[3 * 65536];
static struct rdma_event_channel *events, *asked;
static struct rdma_cm_id *listener, *active, *passive;
static bool connected;

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The n-th allocation from now on fails; 0: none. What was left of the last one. */
static unsigned int arm(unsigned int n)
{
	int error = errno;
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 0)
		die("fail-nth");
	if (dprintf(fail_nth, "%u", n) < 0)
		die("fail-nth");
	errno = error;
	return strtoul(text, NULL, 10);
}

/* ---- links ---- */

static void attribute(struct nlmsghdr *h, uint16_t type, const char *value)
{
	struct nlattr *a = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + strlen(value) + 1;
	memcpy((char *)a + NLA_HDRLEN, value, strlen(value) + 1);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + NLA_ALIGN(a->nla_len);
}

/* Sends a request that only says whether it was done. */
static int request(struct nlmsghdr *h)
{
	char answer[4096];
	struct nlmsghdr *a = (void *)answer;
	struct nlmsgerr *e = NLMSG_DATA(a);
	unsigned int left;
	ssize_t n;

	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (send(netlink, h, h->nlmsg_len, 0) < 0)
		return -1;
	left = arm(0);
	n = recv(netlink, answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*e)) || a->nlmsg_type != NLMSG_ERROR)
		return -1;
	arm(left);
	errno = -e->error;
	return e->error ? -1 : 0;
}

static int link_add_on(const char *ndev)
{
	union { struct nlmsghdr h; char room[512]; } m = {
		.h.nlmsg_len = NLMSG_HDRLEN,
		.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK),
	};

	attribute(&m.h, RDMA_NLDEV_ATTR_DEV_NAME, link_name);
	attribute(&m.h, RDMA_NLDEV_ATTR_LINK_TYPE, "iw_tcp");
	attribute(&m.h, RDMA_NLDEV_ATTR_NDEV_NAME, ndev);
	return request(&m.h);
}

static int link_add(void) { return link_add_on(netdev); }

/* Both libraries look at what devices there are when they are first used. */
static void look(void)
{
	struct ibv_device **d = ibv_get_device_list(NULL);

	/* the list stays, as what is in it is used */
	for (; d && *d; d++)
		if (!strcmp(ibv_get_device_name(*d), link_name))
			device = *d;
	events = rdma_create_event_channel();
	asked = rdma_create_event_channel();
	if (!device || !events || !asked)
		die("a device");
}

static int link_del(void)
{
	char command[200];

	snprintf(command, sizeof(command), "rdma link delete %s", link_name);
	return system(command);
}

/*
 * How many allocations a link takes until the core has a look at its name: those behind
 * them are the core's own. A second link of that name fails there.
 */
static unsigned int link_allocations(void)
{
	unsigned int n = MOST;

	if (link_add())
		die("a link");
	arm(n);
	if (!link_add_on("lo"))
		die("two links of one name");
	/* its refusal is an answer of two allocations */
	n -= arm(0) + 2;
	if (link_del())
		die("a link goes");
	return n;
}

static char settings[200];

static int settings_make(void) { return mkdir(settings, 0755); }
static int settings_remove(void) { return rmdir(settings); }

/* ---- objects ---- */

static int open_device(void) { dev = ibv_open_device(device); return dev ? 0 : -1; }
static int close_device(void) { return ibv_close_device(dev); }
static int make_pd(void) { pd = ibv_alloc_pd(dev); return pd ? 0 : -1; }
static int free_pd(void) { return ibv_dealloc_pd(pd); }
static int make_chan(void) { chan = ibv_create_comp_channel(dev); return chan ? 0 : -1; }
static int free_chan(void) { return ibv_destroy_comp_channel(chan); }
static int make_cq(void) { cq = ibv_create_cq(dev, 100, NULL, chan, 0); return cq ? 0 : -1; }
static int free_cq(void) { return ibv_destroy_cq(cq); }
static int make_qp(void)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = { 100, 100, 4, 4, 0 },
	};

	qp = ibv_create_qp(pd, &a);
	return qp ? 0 : -1;
}
static int free_qp(void) { return ibv_destroy_qp(qp); }
static int make_mr(void)
{
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	return mr ? 0 : -1;
}
static int free_mr(void) { return ibv_dereg_mr(mr); }

/* ---- connections ---- */

static struct sockaddr_in at(unsigned int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

/* The next event, within some seconds; -1: there was none */
static int next(struct rdma_event_channel *c, struct rdma_cm_id **id)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct rdma_cm_event *e;
	int type;

	if (poll(&p, 1, 60000) != 1 || rdma_get_cm_event(c, &e))
		return -1;
	type = e->event;
	if (id)
		*id = e->id;
	rdma_ack_cm_event(e);
	return type;
}

static int listen_(void)
{
	struct sockaddr_in a = at(PORT);

	if (rdma_create_id(asked, &listener, NULL, RDMA_PS_TCP))
		return -1;
	if (!rdma_bind_addr(listener, (struct sockaddr *)&a) && !rdma_listen(listener, 8))
		return 0;
	arm(0);
	rdma_destroy_id(listener);
	return -1;
}
static int unlisten(void) { return rdma_destroy_id(listener); }

static int endpoint(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 } };

	return rdma_create_qp(id, NULL, &a);
}

static void hang_up(struct rdma_cm_id **id)
{
	if (!*id)
		return;
	if ((*id)->qp)
		rdma_destroy_qp(*id);
	rdma_destroy_id(*id);
	*id = NULL;
}

/* Both ends go, and what they were still to be told of. */
static int disconnect(void)
{
	struct pollfd p = { .fd = asked->fd, .events = POLLIN };
	struct rdma_cm_id *id = NULL;

	hang_up(&active);
	while (connected && poll(&p, 1, 60000) == 1 && next(asked, NULL) != RDMA_CM_EVENT_DISCONNECTED)
		;
	connected = false;
	hang_up(&passive);
	while (poll(&p, 1, 0) == 1 && next(asked, &id) >= 0)
		;
	return 0;
}

/* An active end with a queue pair, as far as it fails nowhere */
static int resolve(void)
{
	struct sockaddr_in a = at(PORT);

	if (rdma_create_id(events, &active, NULL, RDMA_PS_TCP))
		return -1;
	if (rdma_resolve_addr(active, NULL, (struct sockaddr *)&a, 5000) ||
	    next(events, NULL) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	    rdma_resolve_route(active, 5000) || next(events, NULL) != RDMA_CM_EVENT_ROUTE_RESOLVED ||
	    endpoint(active)) {
		arm(0);
		hang_up(&active);
		return -1;
	}
	return 0;
}
static int unresolve(void) { hang_up(&active); return 0; }

/* The n-th allocation of one end fails: 0 if they are connected, -1 if that end failed */
static int connection(unsigned int n, bool at_server)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1 };
	int rc;

	arm(0);
	if (resolve())
		die("an end that connects");
	if (!at_server)
		arm(n);
	rc = rdma_connect(active, &p);
	if (!rc && !at_server && n) {
		/* it goes on by itself: what it takes from now on is not counted */
		unsigned int left = arm(0);

		if (next(asked, &passive) != RDMA_CM_EVENT_CONNECT_REQUEST)
			die("no request");
		rc = endpoint(passive) || rdma_accept(passive, &p);
		if (rc)
			die("accepting");
		arm(left);
	} else if (!rc) {
		if (next(asked, &passive) != RDMA_CM_EVENT_CONNECT_REQUEST)
			die("no request");
		arm(n);
		rc = endpoint(passive) || rdma_accept(passive, &p);
	}
	if (rc)
		return -1;
	n = arm(0);
	if (next(events, NULL) != RDMA_CM_EVENT_ESTABLISHED ||
	    next(asked, NULL) != RDMA_CM_EVENT_ESTABLISHED)
		die("they are connected, and are not told");
	connected = true;
	arm(n);
	return 0;
}

/* ---- steps ---- */

struct step {
	const char *what;
	int (*make)(void);
	int (*undo)(void);
	int end;		/* of a connection, whose own function makes it: 1, 2 */
	bool stay;		/* it is made for the steps behind it */
};

static const struct step steps[] = {
	{ "a link", link_add, link_del, 0, true },
	{ "a directory of settings", settings_make, settings_remove, 0, true },
	{ "a device is opened", open_device, close_device, 0, true },
	{ "a protection domain", make_pd, free_pd, 0, true },
	{ "a memory region", make_mr, free_mr },
	{ "a completion channel", make_chan, free_chan, 0, true },
	{ "a completion queue", make_cq, free_cq, 0, true },
	{ "a queue pair", make_qp, free_qp, 0, true },
	{ "a listener", listen_, unlisten, 0, true },
	{ "an end that connects", resolve, unresolve },
	{ "a connection, at its active end", NULL, disconnect, 1 },
	{ "a connection, at its passive end", NULL, disconnect, 2 },
};

/* One attempt; *failed is whether an allocation did. */
static int attempt(const struct step *s, unsigned int n, bool *failed)
{
	int rc;

	if (s->end) {
		rc = connection(n, s->end == 2);
	} else {
		arm(n);
		rc = s->make();
	}
	*failed = !arm(0);
	return rc;
}

static void try(const struct step *s)
{
	unsigned int n, errors = 0, most = s->make == link_add ? link_allocations() : MOST;
	const char *why = NULL;
	bool failed = true;
	int rc = -1;

	for (n = 1; n <= most && !why; n++) {
		errno = 0;
		rc = attempt(s, n, &failed);
		if (!failed)
			break;
		if (!rc && s->undo())
			why = "it can't be undone";
		if (rc && s->end)
			s->undo();
		errors += rc && errno == ENOMEM;
		if (rc && errno != ENOMEM)
			printf("# allocation %u of %s: %s\n", n, s->what, strerror(errno));
	}
	if (!why && s->make == link_add) {
		rc = link_add();
		failed = false;
	}
	if (!why && rc)
		why = failed ? "there is no end of its allocations" : strerror(errno);
	if (!why && n == 1)
		why = "no allocation was made to fail";
	if (!rc && !why && !s->stay && s->undo())
		why = "it can't be undone";
	printf("%sok %u - %s: %u allocations fail\n", why ? "not " : "", ++n_tests, s->what, n - 1);
	printf("# %u times it said so%s%s\n", errors, why ? "; " : "", why ? why : "");
	fflush(stdout);
	n_bad += !!why;
	if (why && s->stay)
		die(s->what);
}

/* What allocations may fail: all of them, also those that may wait. */
static void put(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die(file);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *verbose = getenv("IWT_FAULTS_VERBOSE");
	unsigned int i;

	if (argc != 4)
		return 2;
	link_name = argv[1];
	netdev = argv[2];
	address = argv[3];
	snprintf(settings, sizeof(settings), "/sys/kernel/config/iw_tcp/%s", link_name);
	put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	put("/sys/kernel/debug/failslab/verbose", verbose ? verbose : "0");
	put("/sys/kernel/debug/fail_page_alloc/verbose", verbose ? verbose : "0");
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (fail_nth < 0 || netlink < 0)
		die("beginning");
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		try(&steps[i]);
		if (!i)
			look();
	}
	unlisten();
	if (free_qp() || free_cq() || free_chan() || free_pd() || close_device() || settings_remove())
		die("ending");
	printf("1..%u\n", n_tests);
	return !!n_bad;
}
