// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verbs DEVICE: verbs that fail must change nothing, and harmless flags and attributes
 * must be accepted. Prints TAP. Needs no connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "results.h"

#define READ_RIGHT	IBV_ACCESS_REMOTE_READ
#define WRITE_RIGHT	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE)
#define DEPTH		4
#define ROUNDS		200

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void need(bool good, const char *what)
{
	if (!good)
		die(what);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	need(ctx, name);
	pd = ibv_alloc_pd(ctx);
	need(pd, "ibv_alloc_pd");
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	need(cq, "ibv_create_cq");
}

/*
 * comp_mask contains IBV_QP_INIT_ATTR_CREATE_FLAGS even if @flags is 0, because some programs
 * pass flags of 0.
 */
static struct ibv_qp *make_qp(uint32_t flags)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
		.create_flags = flags,
	};

	errno = 0;
	return ibv_create_qp_ex(ctx, &attr);
}

static struct ibv_qp_attr query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	need(!ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, &init), "ibv_query_qp");
	return attr;
}

/*
 * Checks that ibv_modify_qp() returns @err, and that the queue pair then has the state @state and
 * the remote access flags @rights.
 */
static void modify(struct ibv_qp *qp, const char *what, struct ibv_qp_attr attr, int mask, int err,
		   enum ibv_qp_state state, unsigned int rights)
{
	int got = ibv_modify_qp(qp, &attr, mask);
	struct ibv_qp_attr now = query(qp);
	unsigned int remote = now.qp_access_flags & ~IBV_ACCESS_LOCAL_WRITE;

	report(got == err, "%s: %s", what, err ? strerror(err) : "granted");
	if (got != err)
		printf("# %s\n", strerror(got));
	report(now.qp_state == state, "%s: state", what);
	report(remote == rights, "%s: rights", what);
	if (remote != rights)
		printf("# %#x instead of %#x\n", remote, rights);
}

/* Attributes that iWARP does not have must be zero, to show no old contents of kernel memory. */
static void nothing_else(struct ibv_qp *qp)
{
	bool zero = true;
	int i;

	for (i = 0; i < 100; i++) {
		struct ibv_qp_attr a = query(qp);

		zero &= !a.qkey && !a.rq_psn && !a.sq_psn && !a.dest_qp_num && !a.pkey_index &&
			!a.alt_pkey_index && !a.min_rnr_timer && !a.timeout && !a.retry_cnt &&
			!a.rnr_retry && !a.alt_port_num && !a.alt_timeout && !a.path_mig_state &&
			!a.ah_attr.dlid && !a.ah_attr.grh.flow_label && !a.ah_attr.grh.dgid.raw[0] &&
			!a.alt_ah_attr.dlid && !a.alt_ah_attr.grh.dgid.raw[15];
	}
	report(zero, "a query returns zero for attributes that iWARP does not have");
}

#define STATE	(IBV_QP_STATE | IBV_QP_ACCESS_FLAGS)

static void modifications(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .qp_access_flags = READ_RIGHT };
	unsigned int w = IBV_ACCESS_REMOTE_WRITE;

	modify(qp, "INIT with the right to read", a, STATE, 0, IBV_QPS_INIT, READ_RIGHT);
	a.qp_access_flags = WRITE_RIGHT;
	a.qp_state = IBV_QPS_RTS;
	modify(qp, "RTS without a connection", a, STATE, EINVAL, IBV_QPS_INIT, READ_RIGHT);
	a.qp_state = IBV_QPS_SQD;
	modify(qp, "SQD without a connection", a, STATE, EINVAL, IBV_QPS_INIT, READ_RIGHT);
	a.qp_state = IBV_QPS_SQE;
	modify(qp, "SQE by wish", a, STATE, EOPNOTSUPP, IBV_QPS_INIT, READ_RIGHT);
	a.qp_state = IBV_QPS_INIT;
	a.cur_qp_state = IBV_QPS_RTS;
	modify(qp, "a present state that is not", a, STATE | IBV_QP_CUR_STATE, EINVAL, IBV_QPS_INIT,
	       READ_RIGHT);
	modify(qp, "an attribute of InfiniBand", a, STATE | IBV_QP_QKEY, EOPNOTSUPP, IBV_QPS_INIT,
	       READ_RIGHT);
	a.pkey_index = 1;
	a.port_num = 1;
	modify(qp, "a partition that is not", a, STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, EINVAL,
	       IBV_QPS_INIT, READ_RIGHT);
	a.pkey_index = 0;
	a.port_num = 2;
	modify(qp, "a port that is not", a, STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, EINVAL,
	       IBV_QPS_INIT, READ_RIGHT);
	a.port_num = 1;
	a.qp_access_flags = READ_RIGHT;
	modify(qp, "the port and the partition", a, STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, 0,
	       IBV_QPS_INIT, READ_RIGHT);
	a.qp_access_flags = WRITE_RIGHT;
	modify(qp, "rights alone", a, IBV_QP_ACCESS_FLAGS, 0, IBV_QPS_INIT, w);
	a.cur_qp_state = IBV_QPS_INIT;
	a.qp_state = IBV_QPS_ERR;
	modify(qp, "ERR with the right to write", a, STATE | IBV_QP_CUR_STATE, 0, IBV_QPS_ERR, w);
	a.qp_access_flags = READ_RIGHT;
	a.qp_state = IBV_QPS_INIT;
	modify(qp, "INIT in error", a, STATE, EINVAL, IBV_QPS_ERR, w);
	a.qp_state = IBV_QPS_RESET;
	modify(qp, "RESET with the right to read", a, STATE, 0, IBV_QPS_INIT, 0);
	modify(qp, "RESET", a, IBV_QP_STATE, 0, IBV_QPS_INIT, 0);
}

static int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

/* Posts receives, or sends, until the queue is full. Return: number of posted requests. */
static int fill(struct ibv_qp *qp, bool recvs)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_send_wr *bad_send;
	int n = 0;

	while (n <= DEPTH && !(recvs ? ibv_post_recv(qp, &recv, &bad_recv) :
				       ibv_post_send(qp, &send, &bad_send)))
		n++;
	return n;
}

/* A reset removes all requests of a queue pair that was never connected, without completions. */
static void reset_removes(struct ibv_qp *qp)
{
	int i, recvs, sends;
	struct ibv_wc wc;

	for (i = 0; i < 3; i++) {
		need(!to_state(qp, IBV_QPS_RESET) && !to_state(qp, IBV_QPS_INIT), "RESET and INIT");
		recvs = fill(qp, true);
		sends = fill(qp, false);
		report(recvs == DEPTH && sends == DEPTH,
		       "after reset %d, %d receives and %d sends fit", i, recvs, sends);
	}
	report(!to_state(qp, IBV_QPS_RESET) && !ibv_poll_cq(cq, 1, &wc), "a reset completes nothing");
	report(!to_state(qp, IBV_QPS_ERR) && !ibv_poll_cq(cq, 1, &wc), "nothing is left to flush");
}

/*
 * A queue pair with a shared receive queue reports its last receive whenever it enters the state
 * ERR. The list of unread events must not grow.
 */
static void unread_events(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_async_event ev;
	int i, n = 0, other = 0;
	struct ibv_qp *qp;

	attr.srq = ibv_create_srq(pd, &srq_attr);
	if (!attr.srq && errno == EOPNOTSUPP) {
		skip("unread events", "no shared receive queues");
		return;
	}
	need(attr.srq, "ibv_create_srq");
	qp = ibv_create_qp(pd, &attr);
	need(qp, "ibv_create_qp");
	for (i = 0; i < ROUNDS; i++) {
		need(!to_state(qp, IBV_QPS_ERR) && !to_state(qp, IBV_QPS_RESET), "ERR and RESET");
		usleep(1000);
	}
	need(!fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK), "fcntl");
	while (!ibv_get_async_event(ctx, &ev)) {
		n += ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
		other += ev.event_type != IBV_EVENT_QP_LAST_WQE_REACHED;
		ibv_ack_async_event(&ev);
	}
	/* a second event may begin before the first event is in the list */
	report(n >= 1 && n <= 2 && !other, "%d of %d events of the last receive are unread", n, ROUNDS);
	ibv_destroy_qp(qp);
	ibv_destroy_srq(attr.srq);
}

int main(int argc, char **argv)
{
	struct ibv_qp *qp;

	if (argc != 2) {
		fprintf(stderr, "usage: iwt_verbs DEVICE\n");
		return 2;
	}
	setlinebuf(stdout);
	open_device(argv[1]);
	report(!make_qp(IBV_QP_CREATE_SCATTER_FCS) && errno == EOPNOTSUPP, "a creation flag is refused");
	qp = make_qp(0);
	report(qp, "creation flags of zero are accepted");
	if (qp)
		nothing_else(qp);
	if (qp)
		modifications(qp);
	if (qp)
		reset_removes(qp);
	if (qp)
		ibv_destroy_qp(qp);
	unread_events();
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return results_end();
}
