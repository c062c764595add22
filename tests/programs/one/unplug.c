// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_unplug: processes use a device while it is removed. Each case runs in a process of its own.
 *
 *	iwt_unplug DEVICE SECONDS CASE[,CASE...] [LOCAL PEER PORT SILENT]
 *
 * When each case has begun to wait or to work, the program prints "# ready". The caller then
 * removes the device, and sends SIGUSR1 to this program afterwards. After SIGUSR1 each case must
 * end by itself within SECONDS. Results in TAP. LOCAL is an address of the device. iwt_conn -s
 * listens at the address PEER and the port PORT. The listener at PEER and the port SILENT never
 * answers. The cases "sleeps", "stopped" and "holds" do not use the device again: their processes
 * must exist until this program ends them.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "patience.h"

#define DEPTH	16
#define CASES	32

static const char *device, *local, *peer, *port, *silent;
static int ready_fd;
static uint8_t page[4096] __attribute__((aligned(4096)));

/* The objects of a case. A case is a process, so it has its own copy of these variables. */
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_comp_channel *chan;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct rdma_event_channel *ec;
static struct rdma_cm_id *id;

__attribute__((noreturn, format(printf, 1, 2)))
static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	va_end(ap);
	printf(" (%s)\n", strerror(errno));
	fflush(stdout);
	_exit(1);
}

static void need(bool good, const char *what)
{
	if (!good)
		fail("%s", what);
}

static void ready(void)
{
	need(write(ready_fd, "", 1) == 1, "write");
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			ctx = ibv_open_device(list[i]);
	need(ctx, "no such device");
}

/* Creates objects of @ctx. */
static void make_objects(void)
{
	pd = ibv_alloc_pd(ctx);
	need(pd, "ibv_alloc_pd");
	chan = ibv_create_comp_channel(ctx);
	need(chan, "ibv_create_comp_channel");
	cq = ibv_create_cq(ctx, 4 * DEPTH, NULL, chan, 0);
	need(cq && !ibv_req_notify_cq(cq, 0), "ibv_create_cq");
	mr = ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
	need(mr, "ibv_reg_mr");
}

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr) {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

static void event(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;

	need(!rdma_get_cm_event(ec, &ev), "rdma_get_cm_event");
	if (ev->event != want)
		fail("%s instead of %s", rdma_event_str(ev->event), rdma_event_str(want));
	rdma_ack_cm_event(ev);
}

static struct addrinfo *address(const char *addr, const char *service)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;

	need(addr && !getaddrinfo(addr, service, &hints, &ai), "address");
	return ai;
}

static void make_id(void)
{
	ec = rdma_create_event_channel();
	need(ec && !rdma_create_id(ec, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
}

static int post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = { .addr = (uintptr_t)page, .length = sizeof(page), .lkey = mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return ibv_post_recv(qp, &wr, &bad);
}

/* Begins to connect to a port of the peer */
static void dial(const char *to)
{
	struct rdma_conn_param param = { .private_data = "A", .private_data_len = 2 };
	struct ibv_qp_init_attr attr;
	int i;

	make_id();
	need(!rdma_resolve_addr(id, NULL, address(peer, to)->ai_addr, 10000), "rdma_resolve_addr");
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(id, 10000), "rdma_resolve_route");
	event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	ctx = id->verbs;
	make_objects();
	attr = qp_attr();
	need(!rdma_create_qp(id, pd, &attr), "rdma_create_qp");
	for (i = 0; i < DEPTH; i++)
		need(!post_recv(id->qp), "ibv_post_recv");
	need(!rdma_connect(id, &param), "rdma_connect");
}

static void connected(void)
{
	dial(port);
	event(RDMA_CM_EVENT_ESTABLISHED);
}

static void wait_fatal(void)
{
	struct ibv_async_event ev;

	do {
		need(!ibv_get_async_event(ctx, &ev), "ibv_get_async_event");
		ibv_ack_async_event(&ev);
	} while (ev.event_type != IBV_EVENT_DEVICE_FATAL);
}

/*
 * After the removal, verbs commands must fail with EIO, mmap() must fail, and commands that destroy
 * objects must succeed.
 */
static void all_fails(void)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct ibv_device_attr da;

	errno = 0;
	need(!ibv_alloc_pd(ctx) && errno == EIO, "ibv_alloc_pd");
	need(!ibv_reg_mr(pd, page, sizeof(page), 0) && errno == EIO, "ibv_reg_mr");
	need(!ibv_create_cq(ctx, 1, NULL, NULL, 0) && errno == EIO, "ibv_create_cq");
	need(!ibv_create_qp(pd, &attr) && errno == EIO, "ibv_create_qp");
	need(ibv_query_device(ctx, &da) == EIO, "ibv_query_device");
	need(mmap(NULL, 4096, PROT_READ, MAP_SHARED, ctx->cmd_fd, 0) == MAP_FAILED, "mmap");
	if (id && id->qp)
		rdma_destroy_qp(id);
	need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	need(!ibv_destroy_cq(cq), "ibv_destroy_cq");
	need(!ibv_destroy_comp_channel(chan), "ibv_destroy_comp_channel");
	need(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
}

static void wait_removal(void)
{
	struct rdma_cm_event *ev;
	bool removed = false;

	while (!removed) {
		need(!rdma_get_cm_event(ec, &ev), "rdma_get_cm_event");
		removed = ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		rdma_ack_cm_event(ev);
	}
}

static void do_async(void)
{
	open_device();
	make_objects();
	ready();
	wait_fatal();
	all_fails();
	need(!ibv_close_device(ctx), "ibv_close_device");
}

static void do_cq_event(void)
{
	struct ibv_cq *got;
	void *arg;

	open_device();
	make_objects();
	ready();
	need(ibv_get_cq_event(chan, &got, &arg), "no event of a completion");
	all_fails();
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	need(poll(&p, 1, -1) == 1, "poll");
}

static void do_poll(void)
{
	open_device();
	make_objects();
	ready();
	wait_readable(chan->fd);
	wait_readable(ctx->async_fd);
	wait_fatal();
	all_fails();
}

/*
 * rdma_cm and verbs report the removal in an order that depends on the order in which their modules
 * were loaded.
 */
static void do_cm_event(void)
{
	connected();
	ready();
	wait_removal();
	wait_fatal();
	all_fails();
	need(!rdma_destroy_id(id), "rdma_destroy_id");
}

static void do_connect(void)
{
	dial(silent);
	ready();
	wait_removal();
	wait_fatal();
	all_fails();
	need(!rdma_destroy_id(id), "rdma_destroy_id");
}

static void do_listen(void)
{
	make_id();
	need(!rdma_bind_addr(id, address(local, "7600")->ai_addr), "rdma_bind_addr");
	need(!rdma_listen(id, 8), "rdma_listen");
	ready();
	wait_removal();
	need(!rdma_destroy_id(id), "rdma_destroy_id");
}

/* The device is removed while rdma_get_request() waits: this function must return an error. */
static void do_get_request(void)
{
	struct rdma_cm_id *request;

	need(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_bind_addr(id, address(local, "7601")->ai_addr), "rdma_bind_addr");
	need(!rdma_listen(id, 8), "rdma_listen");
	ready();
	need(rdma_get_request(id, &request), "no request");
	need(!rdma_destroy_id(id), "rdma_destroy_id");
}

/*
 * A process that only polls must get a flushed completion of each receive before polling fails.
 */
static void do_busy_poll(void)
{
	struct ibv_wc wc;
	int n, flushed = 0;

	connected();
	ready();
	while ((n = ibv_poll_cq(cq, 1, &wc)) >= 0)
		flushed += n && wc.status != IBV_WC_SUCCESS;
	if (flushed != DEPTH)
		fail("%d requests flushed of %d", flushed, DEPTH);
	all_fails();
}

static int post_send(struct ibv_qp *qp)
{
	struct ibv_sge sge = { .addr = (uintptr_t)page, .length = 64, .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	return ibv_post_send(qp, &wr, &bad);
}

/* After the removal, posts of a Send and of a receive must fail. */
static void do_post(void)
{
	int err;

	connected();
	ready();
	wait_fatal();
	err = post_send(id->qp);
	if (err != EIO)
		fail("ibv_post_send: %s", strerror(err));
	need(post_recv(id->qp), "ibv_post_recv");
	all_fails();
}

/* Registers and deregisters a region as fast as possible. */
static void do_register(void)
{
	struct ibv_mr *again;

	open_device();
	make_objects();
	ready();
	while ((again = ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE)))
		need(!ibv_dereg_mr(again), "ibv_dereg_mr");
	need(errno == EIO, "ibv_reg_mr");
	all_fails();
}

/* Creates and destroys a queue pair as fast as possible. */
static void do_create(void)
{
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;

	open_device();
	make_objects();
	attr = qp_attr();
	ready();
	while ((qp = ibv_create_qp(pd, &attr)))
		need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	need(errno == EIO, "ibv_create_qp");
	all_fails();
}

static void do_sleeps(void)
{
	connected();
	ready();
	pause();
}

static void do_stopped(void)
{
	connected();
	ready();
	raise(SIGSTOP);
	pause();
}

/* Keeps objects of the device, without a connection. */
static void do_holds(void)
{
	open_device();
	make_objects();
	ready();
	pause();
}

static const struct {
	const char *name;
	void (*run)(void);
	bool stays;	/* the process never ends by itself */
} cases[] = {
	{ "async", do_async },
	{ "cq_event", do_cq_event },
	{ "poll", do_poll },
	{ "cm_event", do_cm_event },
	{ "connect", do_connect },
	{ "listen", do_listen },
	{ "get_request", do_get_request },
	{ "busy_poll", do_busy_poll },
	{ "post", do_post },
	{ "register", do_register },
	{ "create", do_create },
	{ "sleeps", do_sleeps, true },
	{ "stopped", do_stopped, true },
	{ "holds", do_holds, true },
};

static struct {
	int which;
	pid_t pid;
	bool over;
	int status;
} kid[CASES];
static int kids;

static void launch(const char *name)
{
	unsigned int i = 0;

	while (i < sizeof(cases) / sizeof(cases[0]) && strcmp(cases[i].name, name))
		i++;
	if (i == sizeof(cases) / sizeof(cases[0]) || kids == CASES) {
		fprintf(stderr, "no such case: %s\n", name);
		exit(2);
	}
	kid[kids].which = i;
	kid[kids].pid = fork();
	if (!kid[kids].pid) {
		cases[i].run();
		_exit(0);
	}
	kids++;
}

/*
 * Collects the status of the processes that have ended. Return: the number of processes that
 * have to end by themselves and have not ended yet
 */
static int reap(void)
{
	int i, left = 0;

	for (i = 0; i < kids; i++) {
		if (!kid[i].over)
			kid[i].over = waitpid(kid[i].pid, &kid[i].status, WNOHANG) > 0;
		left += !kid[i].over && !cases[kid[i].which].stays;
	}
	return left;
}

static void finish(int i)
{
	bool stays = cases[kid[i].which].stays, was = kid[i].over, good;
	int status;

	if (!was) {
		kill(kid[i].pid, SIGCONT);
		kill(kid[i].pid, stays ? SIGTERM : SIGKILL);
		waitpid(kid[i].pid, &kid[i].status, 0);
	}
	status = kid[i].status;
	good = stays ? !was && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM :
		       was && WIFEXITED(status) && !WEXITSTATUS(status);
	if (!was && !stays)
		patient_late(cases[kid[i].which].name);
	printf("%sok %d - %s%s\n", good ? "" : "not ", i + 1, cases[kid[i].which].name,
	       !was && !stays ? " does not end" : "");
	if (!good)
		printf("# status %#x\n", status);
}

int main(int argc, char **argv)
{
	struct patience wait = { .over = true };	/* finish() prints the time-outs */
	int pipes[2], i, left, seconds, sig;
	sigset_t gone;
	char *name, octet;

	if (argc != 4 && argc != 8) {
		fprintf(stderr, "usage: iwt_unplug DEVICE SECONDS CASES [LOCAL PEER PORT SILENT]\n");
		return 2;
	}
	device = argv[1];
	seconds = atoi(argv[2]);
	if (argc == 8) {
		local = argv[4];
		peer = argv[5];
		port = argv[6];
		silent = argv[7];
	}
	setlinebuf(stdout);
	if (pipe(pipes))
		return 2;
	ready_fd = pipes[1];
	for (name = strtok(argv[3], ","); name; name = strtok(NULL, ","))
		launch(name);
	sigemptyset(&gone);
	sigaddset(&gone, SIGUSR1);
	sigprocmask(SIG_BLOCK, &gone, NULL);
	close(pipes[1]);
	for (i = 0; i < kids && read(pipes[0], &octet, 1) == 1; i++)
		;
	if (i == kids)
		puts("# ready");
	else
		printf("# only %d are\n", i);
	sigwait(&gone, &sig);
	while ((left = reap()) && patient(&wait, seconds, left))
		usleep(10000);
	for (i = 0; i < kids; i++)
		finish(i);
	printf("1..%d\n", kids);
	return 0;
}
