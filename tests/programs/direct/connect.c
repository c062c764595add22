// SPDX-License-Identifier: GPL-2.0
/* Tests: queue pairs that connect, or that cannot connect. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direct.h"

/*
 * The attributes timeout and retry_cnt result in a limit of 0.5 s, but the driver waits at least
 * 5 s.
 */
static const struct how short_limit = {
	.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12, .rd_atomic = 4,
};

/* Tests each operation in the direction from @x to @y. */
static void operations(struct end *x, struct end *y, const char *way)
{
	static const struct {
		enum ibv_wr_opcode op;
		const char *name;
		bool receives;
	} ops[] = {
		{ IBV_WR_RDMA_WRITE, "Write", false },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, "Write with immediate data", true },
		{ IBV_WR_SEND, "Send", true },
	};
	unsigned int i;
	bool good;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		memset(y->side->mem, 0, BUFFER);
		fill_tx(x, 0x40 + i);
		good = !ops[i].receives || !post_recv(y, 7);
		good = good && !post_op(x, ops[i].op, i, y) &&
		       ends(x, i, IBV_WC_SUCCESS);
		/* the completion means that the data has been placed */
		good = good && arrived(y, 0x40 + i);
		if (ops[i].receives)
			good = good && ends(y, 7, IBV_WC_SUCCESS);
		report(good, "%s: %s", way, ops[i].name);
	}
	memset(y->side->mem, 0x77, BUFFER);
	good = !post_op(x, IBV_WR_RDMA_READ, 1, y) && ends(x, 1, IBV_WC_SUCCESS) &&
	       x->side->mem[BUFFER + 5] == 0x77;
	report(good, "%s: Read", way);
	memset(y->side->mem, 0, BUFFER);
	good = !post_op(x, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, y) &&
	       ends(x, 1, IBV_WC_SUCCESS) && *(uint64_t *)y->side->mem == 1;
	report(good, "%s: atomic operation", way);
}

/* Tests that the ends connect, whichever end begins. */
void test_basics(void)
{
	struct end x, y;
	int order;

	for (order = 0; order < 2; order++) {
		end_make(&x, order ? &b : &a);
		end_make(&y, order ? &a : &b);
		errno = connect_end(&x, &y, &usual) ?: connect_end(&y, &x, &usual);
		if (errno)
			die("connect");
		report(true, "%s begins: both queue pairs change to RTS", x.side->name);
		report(talk(&x, &y), "%s begins: a Send in each direction", x.side->name);
		operations(&x, &y, "first to second");
		operations(&y, &x, "second to first");
		end_drop(&x);
		end_drop(&y);
	}
	/* an end that does not send may stay in RTR */
	for (order = 0; order < 2; order++) {
		end_make(&x, order ? &b : &a);
		end_make(&y, order ? &a : &b);
		fill_tx(&x, 9);
		memset(y.side->mem, 0, BUFFER);
		report(!to_init(&y) && !to_rtr(&y, &x, &usual) && !connect_end(&x, &y, &usual) &&
		       !post_op(&x, IBV_WR_RDMA_WRITE, 3, &y) &&
		       ends(&x, 3, IBV_WC_SUCCESS) && arrived(&y, 9),
		       "%s stays in RTR", y.side->name);
		report(state_of(&y) == IBV_QPS_RTR, "%s stays in RTR: its state", y.side->name);
		report(!to_rts(&y, &usual) && talk(&x, &y), "%s changes to RTS later", y.side->name);
		end_drop(&x);
		end_drop(&y);
	}
}

void test_attributes(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct end x, y;

	end_make(&x, &a);
	end_make(&y, &b);
	errno = connect_end(&x, &y, &usual);
	if (errno || connect_end(&y, &x, &usual) || !talk(&x, &y))
		die("connect");
	if (ibv_query_qp(x.qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN, &init))
		die("ibv_query_qp");
	report(attr.qp_state == IBV_QPS_RTS && attr.dest_qp_num == y.qp->qp_num &&
	       attr.rq_psn == y.psn && attr.sq_psn == x.psn && attr.path_mtu == IBV_MTU_1024 &&
	       attr.timeout == usual.timeout && attr.retry_cnt == usual.retry_cnt &&
	       attr.rnr_retry == usual.rnr_retry && attr.min_rnr_timer == usual.min_rnr_timer &&
	       attr.max_rd_atomic == usual.rd_atomic && attr.max_dest_rd_atomic == usual.rd_atomic,
	       "a query returns the attributes");
	report(attr.ah_attr.is_global && !memcmp(&attr.ah_attr.grh.dgid, &b.gid, sizeof(b.gid)) &&
	       attr.ah_attr.grh.sgid_index == a.gid_index && attr.ah_attr.grh.hop_limit == 64,
	       "a query returns the address of the peer");
	end_drop(&x);
	end_drop(&y);
}

/* Checks that the change to RTR fails with the error number @err. */
static void refused(const char *what, struct end *x, const struct end *y, const struct how *how,
		    int err)
{
	int got;

	if (to_init(x))
		die("to_init");
	got = to_rtr(x, y, how);
	report(got == err, "refused: %s (%s)", what, strerror(got));
	if (state_of(x) != IBV_QPS_INIT)
		die("the state has changed");
}

/* The GID of @other, whose side the caller owns, becomes @gid, an IPv4-mapped address. */
static void refused_ip4(const char *what, struct end *x, struct end *other, const char *gid)
{
	if (inet_pton(AF_INET6, gid, &other->side->gid) != 1)
		die("inet_pton");
	refused(what, x, other, &usual, EINVAL);
}

/* Changes the state, and sets the attributes of @attr that @mask names. */
static int change(struct end *x, enum ibv_qp_state state, int mask, struct ibv_qp_attr attr)
{
	attr.qp_state = state;
	return ibv_modify_qp(x->qp, &attr, IBV_QP_STATE | mask);
}

static void check_refused(const char *what, int got, int err)
{
	report(got == err, "refused: %s (%s)", what, strerror(got));
}

/* Attributes beyond their largest values are refused, and the largest values are not. */
static void refused_values(struct end *x, const struct end *y)
{
	struct how most = usual, how = usual;
	struct ibv_device_attr dev;

	if (ibv_query_device(x->qp->context, &dev))
		die("ibv_query_device");
	how.min_rnr_timer = 32;
	refused("min_rnr_timer 32", x, y, &how, EINVAL);
	how = usual;
	how.rd_atomic = dev.max_qp_rd_atom + 1;
	refused("too many Reads at once", x, y, &how, EINVAL);
	how = usual;
	how.wrong_qpn = 1 << 24;
	refused("a queue pair number of 25 bits", x, y, &how, EINVAL);
	most.min_rnr_timer = 31;
	most.timeout = 31;
	most.rd_atomic = dev.max_qp_rd_atom;
	report(!to_init(x) && !to_rtr(x, y, &most), "the largest attributes of RTR");
	how = most;
	how.timeout = 32;
	check_refused("timeout 32", to_rts(x, &how), EINVAL);
	how = most;
	how.retry_cnt = 8;
	check_refused("retry_cnt 8", to_rts(x, &how), EINVAL);
	how = most;
	how.rnr_retry = 8;
	check_refused("rnr_retry 8", to_rts(x, &how), EINVAL);
	how = most;
	how.rd_atomic = dev.max_qp_rd_atom + 1;
	check_refused("too many Reads at once with RTS", to_rts(x, &how), EINVAL);
	report(!to_rts(x, &most), "the largest attributes of RTS");
}

/* Changes of a queue pair in RTS that must have no effect. */
static void refused_changes(struct end *x, const struct end *y)
{
	const struct ibv_qp_attr attr = {
		.cur_qp_state = IBV_QPS_RTR, .min_rnr_timer = usual.min_rnr_timer + 1,
		.dest_qp_num = y->qp->qp_num,
	};

	check_refused("SQD", to_state(x, IBV_QPS_SQD), EOPNOTSUPP);
	check_refused("RTR of a queue pair in RTS", to_rtr(x, y, &usual), EINVAL);
	check_refused("attributes for a second RTS", to_rts(x, &usual), EINVAL);
	check_refused("dest_qp_num with RTS", change(x, IBV_QPS_RTS, IBV_QP_DEST_QPN, attr), EINVAL);
	check_refused("another min_rnr_timer with RTS",
		      change(x, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER, attr), EOPNOTSUPP);
	check_refused("a reset from another state",
		      change(x, IBV_QPS_RESET, IBV_QP_CUR_STATE, attr), EINVAL);
	check_refused("a reset with an attribute of SQD",
		      change(x, IBV_QPS_RESET, IBV_QP_EN_SQD_ASYNC_NOTIFY, attr), EINVAL);
	check_refused("a reset with an attribute of RTS",
		      change(x, IBV_QPS_RESET, IBV_QP_TIMEOUT, attr), EINVAL);
	check_refused("the state ERR with an attribute of RTR",
		      change(x, IBV_QPS_ERR, IBV_QP_DEST_QPN, attr), EINVAL);
	report(state_of(x) == IBV_QPS_RTS, "after refused changes the state is RTS");
}

void test_refusals(void)
{
	const struct ibv_qp_attr same = {
		.cur_qp_state = IBV_QPS_RTS, .min_rnr_timer = usual.min_rnr_timer,
	};
	struct end x, y, other;
	struct side no_gid = a;

	end_make(&x, &a);
	end_make(&y, &b);
	refused("a queue pair to itself", &x, &x, &usual, EOPNOTSUPP);
	other = x;
	other.side = &no_gid;
	no_gid.gid_index = 0;
	refused("GID 0, which is no IP address", &other, &y, &usual, EINVAL);
	if (a.net >= 0) {
		no_gid = a;
		no_gid.net = -1;
		refused("a process in another network namespace than its link", &other, &y, &usual,
			EADDRNOTAVAIL);
		other = y;
		other.side = &no_gid;
		no_gid = b;
		no_gid.net = -1;
		refused("such a process, at the other end", &other, &x, &usual, EADDRNOTAVAIL);
	}
	no_gid = b;
	other = y;
	other.side = &no_gid;
	memset(&no_gid.gid, 0, sizeof(no_gid.gid));
	refused("a peer without an address", &x, &other, &usual, EINVAL);
	no_gid.gid.raw[0] = 0xff;
	refused("a peer with a multicast address", &x, &other, &usual, EINVAL);
	refused_ip4("a peer with the IPv4 address 0.0.0.0", &x, &other, "::ffff:0.0.0.0");
	refused_ip4("a peer with a multicast address of IPv4", &x, &other, "::ffff:224.0.0.1");
	refused_ip4("a peer with the broadcast address of IPv4", &x, &other, "::ffff:255.255.255.255");
	report(to_state(&x, IBV_QPS_RTS) == EINVAL, "refused: RTS before RTR");
	refused_values(&x, &y);
	if (to_state(&x, IBV_QPS_RESET) || connect_end(&x, &y, &usual))
		die("connect");
	refused_changes(&x, &y);
	if (connect_end(&y, &x, &usual))
		die("connect");
	report(talk(&x, &y), "after refused changes the queue pair connects");
	refused_changes(&x, &y);
	report(talk(&x, &y), "after refused changes the connection goes on");
	report(!change(&x, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER, same), "RTS with the same min_rnr_timer");
	report(!change(&x, IBV_QPS_RESET, IBV_QP_CUR_STATE, same), "a reset from the state RTS");
	end_drop(&x);
	end_drop(&y);
}

/* One end begins later. The requests that the other end posts meanwhile wait. */
void test_late(void)
{
	struct end x, y;
	int order;

	for (order = 0; order < 2; order++) {
		end_make(&x, order ? &b : &a);
		end_make(&y, order ? &a : &b);
		memset(y.side->mem, 0, BUFFER);
		fill_tx(&x, 0x33);
		if (connect_end(&x, &y, &usual) || post_op(&x, IBV_WR_SEND, 1, &y))
			die("connect");
		report(quiet(&x, 1500), "%s waits for its peer", x.side->name);
		if (to_init(&y) || post_recv(&y, 2) || connect_end(&y, &x, &usual))
			die("connect");
		report(ends(&x, 1, IBV_WC_SUCCESS) &&
		       ends(&y, 2, IBV_WC_SUCCESS) && arrived(&y, 0x33),
		       "%s: the request that waited arrives", x.side->name);
		end_drop(&x);
		end_drop(&y);
	}
	/* without a request nothing expires: 8 seconds are more than the limit of 5 seconds */
	end_make(&x, &a);
	end_make(&y, &b);
	if (connect_end(&x, &y, &short_limit))
		die("connect");
	sleep(8);
	report(state_of(&x) == IBV_QPS_RTS && !connect_end(&y, &x, &usual) && talk(&x, &y),
	       "without requests a queue pair waits longer than its limit");
	end_drop(&x);
	end_drop(&y);
}

static void never(const char *what, const struct how *wrong, struct side *from, struct side *to)
{
	struct end x, y;

	end_make(&x, from);
	end_make(&y, to);
	if (to_init(&x) || post_recv(&x, 9) || connect_end(&x, &y, wrong) ||
	    connect_end(&y, &x, &usual))
		die("connect");
	if (post_op(&x, IBV_WR_RDMA_WRITE, 1, &y) || post_op(&x, IBV_WR_SEND, 2, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_RETRY_EXC_ERR) &&
	       ends(&x, 2, IBV_WC_WR_FLUSH_ERR) &&
	       ends(&x, 9, IBV_WC_WR_FLUSH_ERR) && state_of(&x) == IBV_QPS_ERR,
	       "%s from %s: the first request fails, and the rest is flushed", what, from->name);
	report(state_of(&y) == IBV_QPS_RTS, "%s from %s: the other end goes on", what, from->name);
	/* the queue pair can be used again */
	report(!to_state(&x, IBV_QPS_RESET) && !connect_end(&x, &y, &usual) && talk(&x, &y),
	       "%s from %s: after a reset the queue pair connects", what, from->name);
	end_drop(&x);
	end_drop(&y);
}

void test_wrong(void)
{
	struct how psn = short_limit, qpn = short_limit, gid = short_limit;

	psn.wrong_psn = 1;
	qpn.wrong_qpn = 1;
	gid.wrong_gid = true;
	never("a wrong PSN", &psn, &a, &b);
	never("a wrong PSN", &psn, &b, &a);
	never("a wrong queue pair number", &qpn, &a, &b);
	never("a wrong GID", &gid, &b, &a);
}
