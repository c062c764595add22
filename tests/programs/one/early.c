// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_early ADDRESS PORT: tries to connect a queue pair while another thread still creates it.
 * The number of the new queue pair is easy to guess: it is the previous number plus 1. The kernel
 * must not find a queue pair by its number before the queue pair is complete.
 *
 * In the last step of the creation, the driver makes the queue pair visible to lookups. In the
 * step before, the driver writes the answer into memory of this process. This program handles the
 * page fault of this memory (userfaultfd(2)), and ends the page fault only after it has tried to
 * connect. A server must listen at ADDRESS and PORT. Exits with status 4 if userfaultfd(2) is
 * missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/iw_tcp-abi.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "patience.h"
#include "results.h"

#define ATTRS		10
#define DRIVER_ID	RDMA_DRIVER_IW_TCP
#define PATIENCE	60

/* Arguments and results of the thread that creates a queue pair */
struct making {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct iwt_create_qp_resp *answer;
	uint32_t number;
	int err;
};

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[ATTRS];
};

static void put(struct call *c, uint16_t id, uint16_t len, uint64_t data)
{
	c->attr[c->hdr.num_attrs++] = (struct ib_uverbs_attr) {
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};
}

static void *make(void *arg)
{
	struct call c = {
		.hdr.object_id = UVERBS_OBJECT_QP,
		.hdr.method_id = UVERBS_METHOD_QP_CREATE,
		.hdr.driver_id = DRIVER_ID,
		.hdr.length = sizeof(c),
	};
	struct ib_uverbs_qp_cap cap = { 1, 1, 1, 1, 0 }, got;
	struct making *m = arg;

	put(&c, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	put(&c, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, m->pd->handle);
	put(&c, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, m->cq->handle);
	put(&c, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, m->cq->handle);
	put(&c, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 1);
	put(&c, UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap), (uintptr_t)&cap);
	put(&c, UVERBS_ATTR_CREATE_QP_TYPE, 8, IB_UVERBS_QPT_RC);
	put(&c, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(got), (uintptr_t)&got);
	put(&c, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4, (uintptr_t)&m->number);
	put(&c, UVERBS_ATTR_UHW_OUT, sizeof(*m->answer), (uintptr_t)m->answer);
	m->err = ioctl(m->pd->context->cmd_fd, RDMA_VERBS_IOCTL, &c) ? errno : 0;
	return NULL;
}

/*
 * Maps a page whose first page fault waits until serve() is called. *@at: the page. Return: the
 * file descriptor that reports the page fault
 */
static int guard(void **at)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		skip("connecting an incomplete queue pair", "no userfaultfd(2)");
		exit(4);
	}
	*at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)*at;
	reg.range.len = page;
	if (*at == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		die("userfaultfd");
	return fd;
}

static void wait_fault(int fd)
{
	struct pollfd p = { fd, POLLIN };
	struct uffd_msg msg;

	if (patient_poll(&p, 1, PATIENCE * 1000) != 1 ||
	    read(fd, &msg, sizeof(msg)) != sizeof(msg))
		die("no page fault");
}

static void serve(int fd, void *at)
{
	struct uffdio_zeropage zero = {
		.range = { (uintptr_t)at, sysconf(_SC_PAGESIZE) },
	};

	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero))
		die("UFFDIO_ZEROPAGE");
}

static struct rdma_cm_id *ident(const char *address, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *ai;
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, port, &hints, &ai) || rdma_create_ep(&id, ai, NULL, NULL))
		die("rdma_create_ep");
	rdma_freeaddrinfo(ai);
	/* rdma_connect() must not wait: the test only checks whether the call is refused */
	if (rdma_migrate_id(id, rdma_create_event_channel()))
		die("rdma_migrate_id");
	return id;
}

/* Return: 0 if the queue pair begins to connect, or an error number */
static int connect_to(struct rdma_cm_id *id, uint32_t number)
{
	struct rdma_conn_param p = { .qp_num = number };

	return rdma_connect(id, &p) ? errno : 0;
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1 } };
	struct rdma_cm_id *early, *late;
	struct making m = {};
	pthread_t thread;
	struct ibv_qp *qp;
	int fd, err;

	if (argc != 3)
		die("iwt_early ADDRESS PORT");
	early = ident(argv[1], argv[2]);
	late = ident(argv[1], argv[2]);
	m.pd = ibv_alloc_pd(early->verbs);
	m.cq = ibv_create_cq(early->verbs, 8, NULL, NULL, 0);
	attr.send_cq = m.cq;
	attr.recv_cq = m.cq;
	qp = m.pd && m.cq ? ibv_create_qp(m.pd, &attr) : NULL;
	if (!qp)
		die("objects");
	fd = guard((void **)&m.answer);
	if (pthread_create(&thread, NULL, make, &m))
		die("pthread_create");
	wait_fault(fd);
	err = connect_to(early, qp->qp_num + 1);
	serve(fd, m.answer);
	pthread_join(thread, NULL);
	report(!m.err && m.number == qp->qp_num + 1,
	       "the number is the next one: error %d, %u, %u", m.err, m.number, qp->qp_num);
	report(err == EINVAL, "connecting an incomplete queue pair is refused: error %d", err);
	err = connect_to(late, m.number);
	report(!err, "connecting the complete queue pair begins: error %d", err);
	return results_end();
}
