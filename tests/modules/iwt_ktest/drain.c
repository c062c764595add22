// SPDX-License-Identifier: GPL-2.0
/* Tests ib_drain_qp() and the flushing of requests in different states of a queue pair. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "kt.h"

#define BIG	65536

/* A thread that may block for ever if the driver has a bug. */
struct kt_job {
	struct completion done;
	struct kt_end *e;
	void (*fn)(struct kt_end *e);
	struct task_struct *task;
};

static int job_main(void *arg)
{
	struct kt_job *job = arg;

	job->fn(job->e);
	complete(&job->done);
	return 0;
}

static struct kt_job *job_start(struct kt_end *e, void (*fn)(struct kt_end *e))
{
	struct kt_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	init_completion(&job->done);
	job->e = e;
	job->fn = fn;
	job->task = kthread_create(job_main, job, "iwt_ktest");
	if (IS_ERR(job->task)) {
		kfree(job);
		return NULL;
	}
	get_task_struct(job->task);
	wake_up_process(job->task);
	return job;
}

/*
 * Waits until the thread of the job ends. If the thread does not end, the connection is never
 * freed, and the module is never unloaded.
 */
static int job_wait(struct kt_conn *c, struct kt_job *job, const char *what)
{
	if (kt_bad(c, !job, "no memory for a thread"))
		return -EIO;
	if (!wait_for_completion_timeout(&job->done, KT_PATIENCE)) {
		c->stuck = true;
		return kt_bad(c, true, "%s does not end", what);
	}
	kthread_stop(job->task);
	put_task_struct(job->task);
	kfree(job);
	return 0;
}

static void do_drain(struct kt_end *e)
{
	ib_drain_qp(e->qp);
}

static void do_disconnect(struct kt_end *e)
{
	rdma_disconnect(e->id);
}

/* Drains the queue pair, and checks that every request has completed. */
static int drain(struct kt_end *e)
{
	if (job_wait(e->conn, job_start(e, do_drain), "ib_drain_qp"))
		return -EIO;
	return iwt_kt_success_then_flush(e, KT_SEND) ?:
	       iwt_kt_success_then_flush(e, KT_RECV);
}

static int post_receives(struct kt_end *e, int n)
{
	struct ib_sge sge = iwt_kt_sge(e, 0, BIG);
	int i;

	for (i = 0; i < n; i++)
		if (kt_bad(e->conn, iwt_kt_recv(e, &sge, 1), "ib_post_recv"))
			return -EIO;
	return 0;
}

/* Posts @n signalled requests. Every third request is a READ, which needs the peer's answer. */
static int post_sends(struct kt_end *e, struct kt_mr *m, int n)
{
	struct ib_sge sge = iwt_kt_sge(e, 0, m->len);
	int i, err;

	for (i = 0; i < n; i++) {
		err = iwt_kt_rdma(e, i % 3 ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
				  &sge, 1, IB_SEND_SIGNALED, m->mr->iova,
				  m->mr->rkey);
		if (kt_bad(e->conn, err, "request %d: %d", i, err))
			return -EIO;
	}
	return 0;
}

/* Registers a region @m at the peer of @e. Requests of @e may access this region. */
static int open_region(struct kt_end *e, struct kt_mr *m)
{
	struct kt_end *peer = iwt_kt_peer(e);

	/* the registration is signalled: iwt_kt_success_then_flush() expects its completion */
	return iwt_kt_mr_make(peer, m, peer->pd, 0, KT_PAGES * PAGE_SIZE) ?:
	       iwt_kt_mr_reg(m, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			     IB_ACCESS_REMOTE_WRITE);
}

static int never_connected(struct kt_conn *c)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad = NULL;

	if (post_receives(&c->c, 5))
		return -EIO;
	wr.wr_cqe = &c->c.wr[KT_SEND][0].cqe;
	if (kt_bad(c, !ib_post_send(c->c.qp, &wr, &bad), "SEND before connecting succeeds") ||
	    kt_bad(c, bad != &wr, "wrong bad_wr"))
		return -EIO;
	return drain(&c->c) ?: drain(&c->c) ?:
	       kt_bad(c, c->c.logged[KT_RECV] != 5, "%u receives flushed",
		      c->c.logged[KT_RECV]);
}

static int never_connected_empty(struct kt_conn *c)
{
	return drain(&c->c);
}

static int connected(struct kt_conn *c)
{
	return drain(&c->c) ?: drain(&c->s);
}

static int receives(struct kt_conn *c)
{
	return post_receives(&c->c, 100) ?: post_receives(&c->s, 7) ?:
	       drain(&c->s) ?: drain(&c->c) ?: drain(&c->s);
}

static int halves(struct kt_conn *c)
{
	if (post_receives(&c->c, 3))
		return -EIO;
	ib_drain_sq(c->c.qp);
	ib_drain_rq(c->c.qp);
	return iwt_kt_success_then_flush(&c->c, KT_RECV);
}

static int outstanding_on(struct kt_end *e)
{
	struct kt_mr m;
	int err;

	err = open_region(e, &m) ?: post_receives(e, 20) ?:
	      post_sends(e, &m, KT_WRS - 8) ?: drain(e);
	if (!e->conn->stuck)
		iwt_kt_mr_free(&m);
	return err;
}

static int outstanding(struct kt_conn *c)
{
	return outstanding_on(&c->c);
}

static int outstanding_server(struct kt_conn *c)
{
	return outstanding_on(&c->s);
}

/*
 * Posts sends, and replaces the completed receives, until the connection ends or e->post_err is
 * set.
 */
static void do_traffic(struct kt_end *e)
{
	struct ib_sge sge = iwt_kt_sge(e, 0, BIG);
	int err = 0;

	while (!READ_ONCE(e->disconnected) && !READ_ONCE(e->post_err)) {
		iwt_kt_process(e, -1);
		if (e->posted[KT_SEND] - READ_ONCE(e->logged[KT_SEND]) < 40)
			err = iwt_kt_send(e, &sge, 1, IB_SEND_SIGNALED);
		else
			usleep_range(20, 50);
		/* do not write 0: the caller may have set post_err to end this loop */
		if (err)
			WRITE_ONCE(e->post_err, err);
		if (e->posted[KT_RECV] - READ_ONCE(e->logged[KT_RECV]) < 90)
			iwt_kt_recv(e, &sge, 1);
		/* in the error state requests are flushed at once, so the loop never sleeps */
		cond_resched();
	}
}

static int in_traffic(struct kt_conn *c, bool both)
{
	struct kt_job *job, *job2 = NULL;
	int err;

	if (post_receives(&c->c, 100) || post_receives(&c->s, 100))
		return -EIO;
	job = job_start(&c->s, do_traffic);
	if (both)
		job2 = job_start(&c->c, do_traffic);
	err = iwt_kt_wait(&c->c, KT_RECV, 20);
	if (both) {
		/* end the traffic of the client before the drain */
		WRITE_ONCE(c->c.post_err, 1);
		err = job_wait(c, job2, "traffic") ?: err;
	}
	err = err ?: drain(&c->c);
	return job_wait(c, job, "the peer's traffic") ?: err ?: drain(&c->s);
}

static int peer_sends(struct kt_conn *c)
{
	return in_traffic(c, false);
}

static int both_send(struct kt_conn *c)
{
	return in_traffic(c, true);
}

static int both_drain(struct kt_conn *c)
{
	struct kt_job *a, *b;
	struct kt_mr m;
	int err;

	err = open_region(&c->c, &m) ?: post_receives(&c->s, 50) ?:
	      post_receives(&c->c, 50) ?: post_sends(&c->c, &m, 60);
	if (!err) {
		a = job_start(&c->c, do_drain);
		b = job_start(&c->s, do_drain);
		err = job_wait(c, a, "the client's drain");
		err = job_wait(c, b, "the server's drain") ?: err;
	}
	err = err ?: iwt_kt_success_then_flush(&c->c, KT_SEND) ?:
	      iwt_kt_success_then_flush(&c->c, KT_RECV) ?:
	      iwt_kt_success_then_flush(&c->s, KT_RECV);
	if (!c->stuck)
		iwt_kt_mr_free(&m);
	return err;
}

/* The end @closes disconnects while the client drains its queue pair. */
static int in_close(struct kt_conn *c, struct kt_end *closes, int sends)
{
	struct kt_job *job;
	struct kt_mr m;
	int err;

	err = open_region(&c->c, &m) ?: post_receives(&c->c, 30) ?:
	      post_sends(&c->c, &m, sends);
	job = job_start(closes, do_disconnect);
	err = err ?: drain(&c->c);
	err = job_wait(c, job, "rdma_disconnect") ?: err;
	if (!err)
		err = kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected),
			     "client stays connected") ?: drain(&c->s);
	if (!c->stuck)
		iwt_kt_mr_free(&m);
	return err;
}

static int own_close(struct kt_conn *c)
{
	return in_close(c, &c->c, 0);
}

static int own_close_busy(struct kt_conn *c)
{
	return in_close(c, &c->c, 100);
}

static int peer_close(struct kt_conn *c)
{
	return in_close(c, &c->s, 0);
}

static int peer_close_busy(struct kt_conn *c)
{
	return in_close(c, &c->s, 100);
}

static int after_close(struct kt_conn *c)
{
	if (post_receives(&c->c, 10))
		return -EIO;
	rdma_disconnect(c->s.id);
	if (kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected), "client stays connected"))
		return -EIO;
	return drain(&c->c) ?: drain(&c->s) ?: drain(&c->c);
}

/* In the error state posting succeeds, and all requests are flushed in order. */
static int in_error(struct kt_conn *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	static DEFINE_SPINLOCK(lock);
	unsigned long irq;
	u32 i;
	int err;

	if (post_receives(&c->c, 20) ||
	    kt_bad(c, ib_modify_qp(c->c.qp, &attr, IB_QP_STATE), "modify"))
		return -EIO;
	for (i = 0; i < 60; i++) {
		if (i % 2)
			spin_lock_irqsave(&lock, irq);
		err = iwt_kt_send(&c->c, NULL, 0, i % 3 ? IB_SEND_SIGNALED : 0) ?:
		      iwt_kt_recv(&c->c, NULL, 0);
		if (i % 2)
			spin_unlock_irqrestore(&lock, irq);
		if (kt_bad(c, err, "post in error: %d", err))
			return -EIO;
	}
	if (iwt_kt_wait(&c->c, KT_SEND, 60) || iwt_kt_wait(&c->c, KT_RECV, 80))
		return -EIO;
	return iwt_kt_flushed(&c->c, KT_SEND, 0, 60) ?:
	       iwt_kt_flushed(&c->c, KT_RECV, 0, 80) ?: drain(&c->c);
}

/* Posts an unsignaled SEND without a struct ib_cqe; waits while the send queue is full. */
static int post_ignored(struct kt_end *e)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	unsigned long end = jiffies + KT_PATIENCE;
	const struct ib_send_wr *bad;
	int err;

	do {
		err = ib_post_send(e->qp, &wr, &bad);
		if (err == -ENOMEM)
			usleep_range(20, 50);
	} while (err == -ENOMEM && time_before(jiffies, end));
	return err;
}

/*
 * RDMA core ignores completions without a struct ib_cqe. More such requests fail than the
 * completion queue has entries: this must not fill the queue, even if nobody polls the queue.
 */
static int ignored(struct kt_conn *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int i, err = 0;

	if (kt_bad(c, ib_modify_qp(c->c.qp, &attr, IB_QP_STATE), "modify"))
		return -EIO;
	for (i = 0; i < 10 * KT_WRS && !err; i++)
		err = post_ignored(&c->c);
	return kt_bad(c, err, "post %d: %d", i, err) ?: drain(&c->c);
}

static int modify_order(struct kt_conn *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct kt_mr m;
	int err;

	err = open_region(&c->c, &m) ?: post_receives(&c->c, 100) ?:
	      post_sends(&c->c, &m, 100) ?:
	      kt_bad(c, ib_modify_qp(c->c.qp, &attr, IB_QP_STATE), "modify") ?:
	      iwt_kt_wait(&c->c, KT_SEND, 100) ?:
	      iwt_kt_wait(&c->c, KT_RECV, 100) ?:
	      iwt_kt_success_then_flush(&c->c, KT_SEND) ?:
	      iwt_kt_success_then_flush(&c->c, KT_RECV) ?:
	      kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected");
	iwt_kt_mr_free(&m);
	return err;
}

/* Destroys a busy queue pair without draining it first. */
static int destroy_busy(struct kt_conn *c)
{
	struct kt_job *job;
	struct kt_mr m;
	int err;

	err = open_region(&c->c, &m) ?: post_receives(&c->c, 100) ?:
	      post_receives(&c->s, 100);
	job = job_start(&c->s, do_traffic);
	err = err ?: iwt_kt_wait(&c->c, KT_RECV, 5) ?:
	      post_sends(&c->c, &m, 100);
	rdma_destroy_qp(c->c.id);
	c->c.qp = NULL;
	err = job_wait(c, job, "the peer's traffic") ?: err ?: drain(&c->s);
	if (!c->stuck)
		iwt_kt_mr_free(&m);
	return err;
}

const struct kt_case iwt_kt_drain[] = {
	{ "drain: never connected", never_connected_empty, .idle = true },
	{ "drain: never connected, with receives, twice", never_connected,
	  .idle = true },
	{ "drain: connected, nothing to do", connected },
	{ "drain: with receives, both ends, one of them twice", receives },
	{ "drain: each of the two queues alone", halves },
	{ "drain: with sends outstanding", outstanding },
	{ "drain: with sends outstanding, at the accepting end",
	  outstanding_server },
	{ "drain: while the peer sends", peer_sends },
	{ "drain: while both ends send", both_send },
	{ "drain: both ends at the same time", both_drain },
	{ "drain: while this end disconnects", own_close },
	{ "drain: while this end disconnects and sends", own_close_busy },
	{ "drain: while the peer disconnects", peer_close },
	{ "drain: while the peer disconnects and this end sends", peer_close_busy },
	{ "drain: after the peer's disconnect", after_close },
	{ "a change to the error state flushes in order", modify_order },
	{ "requests posted in the error state are flushed in order", in_error },
	{ "requests whose completions the core ignores do not fill the queue", ignored,
	  .modes = BIT(KT_DIRECT) | BIT(KT_SOFTIRQ) | BIT(KT_WORKQUEUE) | BIT(KT_UNBOUND) },
	{ "destruction in the middle of traffic", destroy_busy },
	{}
};
