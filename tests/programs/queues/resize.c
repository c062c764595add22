// SPDX-License-Identifier: GPL-2.0
/* iwt_queues: tests the rules for resizing a completion queue, without other threads. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "patience.h"
#include "pinned.h"
#include "queues.h"

#define FEW	16
#define MANY	200

/* Causes completions of @n empty Sends, with wr_id from @first. Each Send needs a receive. */
static void fill_queue(struct conn *c, int n, uint64_t first)
{
	int i;

	for (i = 0; i < n; i++) {
		if (post_recv(c->far->qp, i, NULL) ||
		    post_send(c->near->qp, IBV_WR_SEND, first + i, IBV_SEND_SIGNALED, NULL))
			die("posting");
	}
}

static bool in_order(const struct ibv_wc *wc, int n, uint64_t first)
{
	int i;

	for (i = 0; i < n; i++)
		if (wc[i].status || wc[i].wr_id != first + i)
			return false;
	return true;
}

/*
 * Waits for @n completions in the queue of the far end. When this function returns, the
 * completions of the near end have arrived, too, or will arrive soon.
 */
static void wait_for(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc[MANY];

	reap(cq, wc, n);
}

static void try_sizes(struct link *l, struct ibv_cq *cq)
{
	struct ibv_device_attr attr;
	int before = cq->cqe;

	if (ibv_query_device(l->verbs, &attr))
		die("ibv_query_device");
	report(ibv_resize_cq(cq, 0) == EINVAL && cq->cqe == before, "resize to 0 is refused");
	report(ibv_resize_cq(cq, -1) == EINVAL && cq->cqe == before, "resize to -1 is refused");
	report(ibv_resize_cq(cq, attr.max_cqe + 1) == EINVAL && cq->cqe == before,
	       "resize to more than the device allows is refused");
	report(!ibv_resize_cq(cq, before) && cq->cqe == before,
	       "resize to the same size succeeds");
}

/* A size below the number of completions in the queue is refused, and nothing changes. */
static void try_in_use(struct conn *c, struct ibv_cq *cq, struct ibv_cq *far_cq)
{
	struct ibv_wc wc[MANY];
	int before;

	if (ibv_resize_cq(cq, MANY))
		die("ibv_resize_cq");
	before = cq->cqe;
	fill_queue(c, MANY, 1000);
	wait_for(far_cq, MANY);
	/* this resize succeeds until the completion of the last Send has arrived, too */
	while (!ibv_resize_cq(cq, MANY - 1))
		;
	report(ibv_resize_cq(cq, MANY - 1) == EINVAL && cq->cqe == before,
	       "resize to one less than is in use is refused");
	report(ibv_resize_cq(cq, 1) == EINVAL && cq->cqe == before,
	       "resize to far less than is in use is refused");
	report(!ibv_resize_cq(cq, 4 * MANY) && cq->cqe >= 4 * MANY, "a full queue grows");
	report(!ibv_resize_cq(cq, MANY) && cq->cqe >= MANY,
	       "a full queue shrinks to the number of its completions");
	reap(cq, wc, MANY);
	report(in_order(wc, MANY, 1000) && !ibv_poll_cq(cq, 1, wc),
	       "all completions are still there, once and in order");
	report(!ibv_resize_cq(cq, 1) && cq->cqe >= 1, "an empty queue shrinks to one entry");
}

static rlim_t address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		die("/proc/self/statm");
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* If the process cannot map the new ring, the resize fails, and the queue keeps its size. */
static void try_unmapped(struct conn *c, struct ibv_cq *cq, struct ibv_cq *far_cq)
{
	struct rlimit before, now;
	struct ibv_wc wc[MANY];
	size_t pinned;
	int size, err;

	if (ibv_resize_cq(cq, MANY) || getrlimit(RLIMIT_AS, &before))
		die("ibv_resize_cq");
	size = cq->cqe;
	pinned = pinned_pages();
	now = before;
	now.rlim_cur = address_space();
	if (setrlimit(RLIMIT_AS, &now))
		die("setrlimit");
	err = ibv_resize_cq(cq, MANY / 2);
	if (setrlimit(RLIMIT_AS, &before))
		die("setrlimit");
	report(err == ENOMEM && cq->cqe == size && pinned_pages() == pinned,
	       "resize without room for a mapping changes nothing (%d)", err);
	fill_queue(c, MANY, 5000);
	wait_for(far_cq, MANY);
	reap(cq, wc, MANY);
	report(in_order(wc, MANY, 5000), "after the failed resize the queue keeps its room");
	report(!ibv_resize_cq(cq, size) && cq->cqe == size,
	       "after the failed resize the kernel knows the size of the queue");
	if (ibv_resize_cq(cq, 1))
		die("ibv_resize_cq");
}

static void try_memory(struct ibv_cq *cq)
{
	size_t before = pinned_pages(), large;

	if (ibv_resize_cq(cq, 10000))
		die("ibv_resize_cq");
	large = pinned_pages();
	report(large >= before + 10000 * 40 / sysconf(_SC_PAGESIZE),
	       "the entries of a large queue count as pinned memory");
	if (ibv_resize_cq(cq, 1))
		die("ibv_resize_cq");
	report(pinned_pages() == before, "a smaller queue counts as before");
}

void test_resize_rules(struct link *l)
{
	struct ibv_cq *cq = cq_make(l->verbs, FEW, NULL), *far_cq = cq_make(l->verbs, 2 * MANY, NULL);
	struct ibv_qp_init_attr_ex near = qp_attr(l->pd, cq, MANY), far = qp_attr(l->pd, far_cq, MANY);
	struct ibv_cq_init_attr_ex single = { .cqe = FEW, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					      .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	struct ibv_cq_ex *ex = ibv_create_cq_ex(l->verbs, &single);
	struct conn c;

	conn_make(&c, &near, &far);
	try_sizes(l, cq);
	try_in_use(&c, cq, far_cq);
	try_unmapped(&c, cq, far_cq);
	try_memory(cq);
	conn_drop(&c);
	report(ex && !ibv_resize_cq(ibv_cq_ex_to_cq(ex), 100) && ibv_cq_ex_to_cq(ex)->cqe >= 100,
	       "a single-threaded queue is resized");
	cq_drop(ibv_cq_ex_to_cq(ex));
	cq_drop(cq);
	cq_drop(far_cq);
}

/* Waits for an event and reads it. Return: 1 if there is an event within @ms, else 0 */
static int event(struct ibv_comp_channel *channel, int ms)
{
	struct pollfd pfd = { channel->fd, POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (patient_poll(&pfd, 1, ms) != 1)
		return 0;
	if (ibv_get_cq_event(channel, &cq, &context))
		die("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	return 1;
}

/*
 * An armed queue that is resized stays armed: for the same kind of completions, and for exactly
 * one event.
 */
void test_resize_events(struct link *l)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(l->verbs);
	struct ibv_cq *cq = cq_make(l->verbs, FEW, channel), *far_cq = cq_make(l->verbs, FEW, NULL);
	struct ibv_qp_init_attr_ex near = qp_attr(l->pd, far_cq, FEW), far = qp_attr(l->pd, cq, FEW);
	int round, missed = 0, extra = 0, events = 0;
	struct ibv_wc wc;
	struct conn c;

	if (!channel)
		die("ibv_create_comp_channel");
	conn_make(&c, &near, &far);
	for (round = 0; round < 200; round++) {
		bool solicited = round % 2, before = round % 3;

		if (post_recv(c.far->qp, round, NULL))
			die("ibv_post_recv");
		if (before && ibv_req_notify_cq(cq, solicited))
			die("ibv_req_notify_cq");
		if (ibv_resize_cq(cq, FEW << below(4)))
			die("ibv_resize_cq");
		if (!before && ibv_req_notify_cq(cq, solicited))
			die("ibv_req_notify_cq");
		extra += event(channel, 0);
		if (post_send(c.near->qp, IBV_WR_SEND, round,
			      IBV_SEND_SIGNALED | (solicited ? IBV_SEND_SOLICITED : 0), NULL))
			die("ibv_post_send");
		reap(far_cq, &wc, 1);
		if (event(channel, PATIENCE * 1000))
			events++;
		else
			missed++;
		reap(cq, &wc, 1);
	}
	extra += event(channel, 0);
	report(!missed && !extra, "armed queues are resized: %d events, %d missed, %d too many",
	       events, missed, extra);
	conn_drop(&c);
	cq_drop(cq);
	cq_drop(far_cq);
	ibv_destroy_comp_channel(channel);
}

/*
 * Drops CAP_IPC_LOCK, so that RLIMIT_MEMLOCK limits this process. The caller must do this before
 * the device is opened: the kernel refuses commands on a file that the process has opened with
 * other credentials.
 */
void drop_ipc_lock(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		die("capget");
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &head, data))
		die("capset");
}

/*
 * A resize for which the process would have to pin more memory than RLIMIT_MEMLOCK is refused,
 * and changes nothing. The same resize succeeds with a higher limit.
 */
void test_resize_limit(struct link *l)
{
	struct ibv_cq *cq = cq_make(l->verbs, FEW, NULL);
	struct rlimit before, now;
	int size = cq->cqe, err;

	if (getrlimit(RLIMIT_MEMLOCK, &before))
		die("getrlimit");
	now = before;
	now.rlim_cur = (pinned_pages() + 20) * sysconf(_SC_PAGESIZE);
	if (setrlimit(RLIMIT_MEMLOCK, &now))
		die("setrlimit");
	err = ibv_resize_cq(cq, 10000);
	report(err == ENOMEM && cq->cqe == size, "more than the process may pin is refused (%d)", err);
	report(!ibv_resize_cq(cq, 1000) && cq->cqe >= 1000, "a resize within the limit succeeds");
	now.rlim_cur = (pinned_pages() + 400) * sysconf(_SC_PAGESIZE);
	if (now.rlim_max < now.rlim_cur)
		now.rlim_max = now.rlim_cur;
	if (setrlimit(RLIMIT_MEMLOCK, &now))
		die("setrlimit");
	report(!ibv_resize_cq(cq, 10000) && cq->cqe >= 10000 && !ibv_resize_cq(cq, 1) && cq->cqe == size,
	       "the refused resize succeeds with a higher limit");
	cq_drop(cq);
}
