// SPDX-License-Identifier: GPL-2.0
/*
 * A worker of iwt_charge, and its calls of uverbs. The calls use ioctl(), because uverbs refuses
 * write() in a child of the process that opened the device.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/iw_tcp-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "charge.h"

int iwt_ctx[CONTEXTS];

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[8];
};

static struct ib_uverbs_attr *add(struct call *c, uint16_t id, uint64_t data, uint16_t len)
{
	struct ib_uverbs_attr *a = &c->attr[c->hdr.num_attrs++];
	uint32_t short_data = data;

	a->attr_id = id;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	a->len = len;
	if (len == sizeof(short_data))
		memcpy(&a->data, &short_data, sizeof(short_data));
	else
		a->data = data;
	return a;
}

static int run(int fd, struct call *c, uint16_t method)
{
	c->hdr.object_id = UVERBS_OBJECT_CQ;
	c->hdr.method_id = method;
	c->hdr.driver_id = RDMA_DRIVER_IW_TCP;
	c->hdr.length = sizeof(c->hdr) + c->hdr.num_attrs * sizeof(c->attr[0]);
	return ioctl(fd, RDMA_VERBS_IOCTL, c) ? errno : 0;
}

int iwt_create(int fd, uint32_t cqe, struct answer *a)
{
	struct iwt_create_cq_resp resp = {};
	struct ib_uverbs_attr *handle;
	struct call c = {};
	uint32_t got;
	int err;

	handle = add(&c, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	add(&c, UVERBS_ATTR_CREATE_CQ_CQE, cqe, 4);
	add(&c, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 1, 8);
	add(&c, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0, 4);
	add(&c, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 0, 4)->data = (uintptr_t)&got;
	add(&c, UVERBS_ATTR_UHW_OUT, (uintptr_t)&resp, sizeof(resp));
	err = run(fd, &c, UVERBS_METHOD_CQ_CREATE);
	a->handle = handle->data;
	a->offset = resp.mmap_offset;
	a->len = resp.mmap_length;
	return err;
}

int iwt_destroy(int fd, uint32_t handle)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct call c = {};

	add(&c, UVERBS_ATTR_DESTROY_CQ_HANDLE, handle, 0);
	add(&c, UVERBS_ATTR_DESTROY_CQ_RESP, (uintptr_t)&resp, sizeof(resp));
	return run(fd, &c, UVERBS_METHOD_CQ_DESTROY);
}

/* The functions below run in a worker, which obeys the orders of iwt_charge's main process. */
static int pipe_fd[2];
static const int *socket_of;

static void do_fork(const struct order *o, struct answer *a)
{
	a->pid = fork();
	if (a->pid < 0)
		a->err = errno;
	if (a->pid)
		return;
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	iwt_serve(socket_of, o->slot);
}

/*
 * Unmaps a part of a ring, and keeps the addresses in use: if the kernel mapped another ring there,
 * a later UNMAP of the first ring would also unmap the other ring.
 */
static int unmap_part(void *at, uint64_t len)
{
	at = mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return at == MAP_FAILED ? errno : 0;
}

static int splice_in(void *at)
{
	struct iovec v = { .iov_base = at, .iov_len = 1 };

	return vmsplice(pipe_fd[1], &v, 1, 0) == 1 ? 0 : errno ?: EIO;
}

static void obey(const struct order *o, struct answer *a)
{
	char octet;

	switch (o->op) {
	case CREATE:
		a->err = iwt_create(iwt_ctx[o->ctx], o->cqe, a);
		break;
	case DESTROY:
		a->err = iwt_destroy(iwt_ctx[o->ctx], o->handle);
		break;
	case MAP:
		a->at = mmap(NULL, o->len, PROT_READ | PROT_WRITE, MAP_SHARED, iwt_ctx[o->ctx],
			     o->offset);
		a->err = a->at == MAP_FAILED ? errno : 0;
		break;
	case UNMAP:
		a->err = munmap(o->at, o->len) ? errno : 0;
		break;
	case UNMAP_PART:
		a->err = unmap_part(o->at, o->len);
		break;
	case FORK:
		do_fork(o, a);
		break;
	case SPLICE:
		a->err = splice_in(o->at);
		break;
	case DRAIN:
		a->err = read(pipe_fd[0], &octet, 1) == 1 ? 0 : EIO;
		break;
	case CLOSE:
		close(iwt_ctx[o->ctx]);
		break;
	case EXIT:
		_exit(0);
	}
}

void iwt_serve(const int *sockets, int slot)
{
	int fd = sockets[slot];
	struct order o;

	socket_of = sockets;
	if (pipe(pipe_fd))
		_exit(1);
	/* a child must not become a zombie, because its parent does not wait for it */
	signal(SIGCHLD, SIG_IGN);
	while (read(fd, &o, sizeof(o)) == sizeof(o)) {
		struct answer a = {};

		obey(&o, &a);
		if (write(fd, &a, sizeof(a)) != sizeof(a))
			break;
	}
	_exit(1);
}
