// SPDX-License-Identifier: GPL-2.0
/*
 * Tests rules of the kernel's Documentation/infiniband/core_locking.rst: in which contexts
 * consumers may call verbs, and in which contexts a driver may call completion handlers. The
 * cases notify(), missed() and moderated() test completion events.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include "kt.h"

#define ROUNDS	50

/* Posts @n receives at the server, before a case sends its messages. */
static int replenish(struct kt_conn *c, int n)
{
	while (n--)
		if (kt_bad(c, iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv"))
			return -EIO;
	return 0;
}

static int all_arrived(struct kt_conn *c, u32 n)
{
	u32 i;

	if (kt_bad(c, c->c.post_err, "post: %d", c->c.post_err))
		return -EIO;
	for (i = 0; i < n; i++)
		if (iwt_kt_expect(&c->c, KT_SEND, i, i, IB_WC_SUCCESS,
				  IB_WC_SEND) ||
		    iwt_kt_expect(&c->s, KT_RECV, i, i, IB_WC_SUCCESS,
				  IB_WC_RECV))
			return -EIO;
	return 0;
}

static int post_checked(struct kt_end *e)
{
	int err = iwt_kt_send(e, NULL, 0, IB_SEND_SIGNALED);

	if (err && !e->post_err)
		e->post_err = err;
	return err;
}

static int irqs_off(struct kt_conn *c)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long irq;
	int i;

	if (replenish(c, ROUNDS))
		return -EIO;
	for (i = 0; i < ROUNDS; i++) {
		spin_lock_irqsave(&lock, irq);
		post_checked(&c->c);
		spin_unlock_irqrestore(&lock, irq);
	}
	return all_arrived(c, ROUNDS);
}

static int bh_off(struct kt_conn *c)
{
	int i;

	if (replenish(c, ROUNDS))
		return -EIO;
	local_bh_disable();
	for (i = 0; i < ROUNDS; i++)
		post_checked(&c->c);
	local_bh_enable();
	return all_arrived(c, ROUNDS);
}

struct kt_timer {
	struct timer_list timer;
	struct kt_conn *c;
	struct completion done;
	int left;
};

static void on_timer(struct timer_list *timer)
{
	struct kt_timer *t = container_of(timer, struct kt_timer, timer);
	struct kt_end *e = &t->c->c;

	/*
	 * post_checked() sends a message to the server, which needs a receive for this message.
	 */
	if (iwt_kt_recv(&t->c->s, NULL, 0))
		e->post_err = -EIO;
	post_checked(e);
	iwt_kt_process(e, 16);
	if (t->c->mode == KT_HANDLER)
		ib_req_notify_cq(e->cq, IB_CQ_NEXT_COMP);
	if (--t->left)
		mod_timer(&t->timer, jiffies + 1);
	else
		complete(&t->done);
}

static int from_timer_context(struct kt_conn *c)
{
	/* not on the stack: kernels have different functions for timers on the stack */
	struct kt_timer *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (kt_bad(c, !t, "no memory"))
		return -EIO;
	t->c = c;
	t->left = ROUNDS;
	init_completion(&t->done);
	timer_setup(&t->timer, on_timer, 0);
	mod_timer(&t->timer, jiffies + 1);
	wait_for_completion(&t->done);
	timer_delete_sync(&t->timer);
	kfree(t);
	return all_arrived(c, ROUNDS);
}

struct kt_irq {
	struct irq_work work;
	struct kt_conn *c;
};

static void on_irq(struct irq_work *work)
{
	struct kt_conn *c = container_of(work, struct kt_irq, work)->c;

	if (iwt_kt_recv(&c->s, NULL, 0))
		c->c.post_err = -EIO;
	post_checked(&c->c);
}

static int from_interrupt(struct kt_conn *c)
{
	struct kt_irq w = { .c = c };
	int i;

	init_irq_work(&w.work, on_irq);
	for (i = 0; i < ROUNDS; i++) {
		irq_work_queue(&w.work);
		irq_work_sync(&w.work);
	}
	return all_arrived(c, ROUNDS);
}

/*
 * Answers each received message, inside the handler of its completion, until the budget is used.
 */
static void answer(struct kt_end *e, enum kt_queue q, const struct ib_wc *wc)
{
	if (q != KT_RECV || wc->status != IB_WC_SUCCESS || !e->budget)
		return;
	e->budget--;
	if (iwt_kt_recv(e, NULL, 0))
		e->post_err = -EIO;
	post_checked(e);
}

static int ping_pong(struct kt_conn *c)
{
	u32 i;

	c->c.budget = 300;
	c->s.budget = 300;
	c->c.on_done = answer;
	c->s.on_done = answer;
	for (i = 0; i < 8; i++)
		if (kt_bad(c, iwt_kt_recv(&c->c, NULL, 0) ||
			   iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv"))
			return -EIO;
	if (kt_bad(c, iwt_kt_send(&c->c, NULL, 0, IB_SEND_SIGNALED), "SEND"))
		return -EIO;
	if (c->mode == KT_DIRECT) {
		for (i = 1; i <= 300; i++)
			if (iwt_kt_wait(&c->s, KT_RECV, i) ||
			    iwt_kt_wait(&c->c, KT_RECV, i))
				return -EIO;
		/* the waits below also poll the completions of the last answers */
	}
	if (iwt_kt_wait(&c->c, KT_RECV, 300) || iwt_kt_wait(&c->s, KT_RECV, 301))
		return -EIO;
	return kt_bad(c, c->c.post_err || c->s.post_err, "post: %d, %d",
		      c->c.post_err, c->s.post_err);
}

/*
 * While bottom halves are off, a handler can run on this processor only if the verb itself calls
 * the handler. The handler checks whether it runs in the task that posts.
 */
static void burst(struct kt_end *e)
{
	int i;

	local_bh_disable();
	WRITE_ONCE(e->poster, current);
	for (i = 0; i < 8; i++) {
		post_checked(e);
		if (iwt_kt_recv(e, NULL, 0))
			e->post_err = -EIO;
	}
	ib_req_notify_cq(e->cq, IB_CQ_NEXT_COMP);
	WRITE_ONCE(e->poster, NULL);
	local_bh_enable();
}

static int bursts_from(void *arg)
{
	struct kt_end *e = arg;
	int i;

	for (i = 0; i < 60 && !e->post_err; i++) {
		burst(e);
		/* wait until both queues of this end have enough free entries */
		while (e->posted[KT_SEND] - READ_ONCE(e->logged[KT_SEND]) > 16 ||
		       e->posted[KT_RECV] - READ_ONCE(e->logged[KT_RECV]) > 96) {
			if (kthread_should_stop())
				return 0;
			usleep_range(20, 50);
		}
	}
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}

static int handlers(struct kt_conn *c)
{
	struct task_struct *task[2];
	int i, err = 0;

	for (i = 0; i < 80; i++)
		if (kt_bad(c, iwt_kt_recv(&c->c, NULL, 0) ||
			   iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv"))
			return -EIO;
	task[0] = kthread_run(bursts_from, &c->c, "iwt_ktest-c");
	task[1] = kthread_run(bursts_from, &c->s, "iwt_ktest-s");
	if (kt_bad(c, IS_ERR(task[0]) || IS_ERR(task[1]), "no threads"))
		err = -EIO;
	err = err ?: iwt_kt_wait(&c->c, KT_RECV, 480) ?:
	      iwt_kt_wait(&c->s, KT_RECV, 480) ?:
	      iwt_kt_wait(&c->c, KT_SEND, 480) ?:
	      iwt_kt_wait(&c->s, KT_SEND, 480);
	for (i = 0; i < 2; i++)
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	return err ?: kt_bad(c, c->c.post_err || c->s.post_err, "post: %d, %d",
			     c->c.post_err, c->s.post_err);
}

static bool event_after(struct kt_end *e, int before)
{
	unsigned long end = jiffies + KT_PATIENCE;

	while (atomic_read(&e->events) == before) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(50, 200);
	}
	return true;
}

/* Sends one message to the server, and polls for its completion. */
static int message(struct kt_conn *c, int flags)
{
	struct kt_end *s = &c->s;
	u32 n = s->posted[KT_RECV];
	unsigned long end = jiffies + KT_PATIENCE;
	struct ib_wc wc;

	if (kt_bad(c, iwt_kt_recv(s, NULL, 0), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_send(&c->c, NULL, 0, flags), "SEND"))
		return -EIO;
	while (READ_ONCE(s->logged[KT_RECV]) <= n) {
		if (ib_poll_cq(s->cq, 1, &wc) == 1)
			wc.wr_cqe->done(s->cq, &wc);
		else
			usleep_range(50, 200);
		if (kt_bad(c, time_after(jiffies, end), "no message"))
			return -EIO;
	}
	return iwt_kt_expect(s, KT_RECV, n, n, IB_WC_SUCCESS, IB_WC_RECV);
}

/* Each request for an event leads to one event, and only for the requested kind of completion. */
static int notify(struct kt_conn *c)
{
	struct kt_end *s = &c->s;
	int before = atomic_read(&s->events);

	/*
	 * iwt_kt_make_end() has requested the first event; the handler must not request the next
	 */
	WRITE_ONCE(s->armed, false);
	if (message(c, 0) || kt_bad(c, !event_after(s, before), "no event"))
		return -EIO;
	before = atomic_read(&s->events);
	if (message(c, IB_SEND_SOLICITED) || message(c, 0))
		return -EIO;
	ib_req_notify_cq(s->cq, IB_CQ_SOLICITED);
	if (message(c, 0) || message(c, 0) ||
	    kt_bad(c, atomic_read(&s->events) != before, "an event that was not requested"))
		return -EIO;
	if (message(c, IB_SEND_SOLICITED) ||
	    kt_bad(c, !event_after(s, before), "no solicited event"))
		return -EIO;
	before = atomic_read(&s->events);
	ib_req_notify_cq(s->cq, IB_CQ_NEXT_COMP);
	/* IB_CQ_SOLICITED does not replace IB_CQ_NEXT_COMP */
	ib_req_notify_cq(s->cq, IB_CQ_SOLICITED);
	if (message(c, 0) || kt_bad(c, !event_after(s, before), "no event"))
		return -EIO;
	before = atomic_read(&s->events);
	ib_req_notify_cq(s->cq, IB_CQ_SOLICITED);
	if (kt_bad(c, iwt_kt_recv(s, NULL, 0), "ib_post_recv"))
		return -EIO;
	/* errors always count as solicited */
	rdma_disconnect(c->c.id);
	return kt_bad(c, !event_after(s, before), "no event for a flushed receive");
}

/* ib_req_notify_cq() reports earlier completions if IB_CQ_REPORT_MISSED_EVENTS is set. */
static int missed(struct kt_conn *c)
{
	int ask = IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS;
	unsigned long end = jiffies + KT_PATIENCE;
	struct kt_end *s = &c->s;
	int before = atomic_read(&s->events);

	WRITE_ONCE(s->armed, false);
	if (message(c, 0) || kt_bad(c, !event_after(s, before), "no event"))
		return -EIO;
	if (kt_bad(c, ib_req_notify_cq(s->cq, ask) != 0, "a missed completion without cause"))
		return -EIO;
	/* the completion of the server's own SEND raises no event, and is not polled */
	if (kt_bad(c, iwt_kt_recv(&c->c, NULL, 0), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_send(s, NULL, 0, IB_SEND_SIGNALED), "SEND"))
		return -EIO;
	while (ib_req_notify_cq(s->cq, ask) <= 0) {
		if (kt_bad(c, time_after(jiffies, end), "no missed completion is reported"))
			return -EIO;
		usleep_range(50, 200);
	}
	return 0;
}

/* count_and_tell() replaces the completion handler of RDMA core, to count the calls in @told. */
static ib_comp_handler core_handler;
static atomic_t told;

static void count_and_tell(struct ib_cq *cq, void *ctx)
{
	atomic_inc(&told);
	core_handler(cq, ctx);
}

/* Sends a message. Moderation delays the event of its completion, so no handler is called yet. */
static int put_off(struct kt_conn *c)
{
	unsigned long end = jiffies + KT_PATIENCE;
	struct ib_cq *cq = c->s.cq;

	atomic_set(&told, 0);
	core_handler = cq->comp_handler;
	cq->comp_handler = count_and_tell;
	if (kt_bad(c, rdma_set_cq_moderation(cq, 8, U16_MAX), "moderation") ||
	    kt_bad(c, iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_send(&c->c, NULL, 0, 0), "SEND"))
		return -EIO;
	while (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) <= 0) {
		if (kt_bad(c, time_after(jiffies, end), "no message"))
			return -EIO;
		usleep_range(50, 200);
	}
	return 0;
}

/*
 * The destruction of the last queue pair of a completion queue must raise the delayed event.
 * After the destruction no event may follow, because the consumer may free the completion queue.
 */
static int moderated(struct kt_conn *c)
{
	int err = put_off(c);

	rdma_destroy_qp(c->s.id);
	c->s.qp = NULL;
	err = err ?: kt_bad(c, atomic_read(&told) != 1, "%d events of the destruction",
			    atomic_read(&told));
	c->s.cq->comp_handler = core_handler;
	return err;
}

const struct kt_case iwt_kt_context[] = {
	{ "posting with interrupts off under a spinlock", irqs_off },
	{ "posting with bottom halves off", bh_off },
	{ "posting, polling and arming from a timer", from_timer_context },
	{ "posting from a hard interrupt", from_interrupt },
	{ "posting from completion handlers", ping_pong },
	{ "one handler at a time, and never inside a verb", handlers,
	  .modes = BIT(KT_HANDLER) },
	{ "one event for each request, solicited events apart", notify,
	  .modes = BIT(KT_HANDLER) },
	{ "completions before a request for events are reported", missed,
	  .modes = BIT(KT_HANDLER) },
	{ "destruction of the last queue pair raises a delayed event", moderated,
	  .modes = BIT(KT_SOFTIRQ) | BIT(KT_WORKQUEUE) | BIT(KT_UNBOUND) },
	{}
};
