// SPDX-License-Identifier: GPL-2.0
/*
 * The step iwt_op_judge() creates a connection that no other step of the process uses, makes one
 * mistake, and checks the result (judge.h). The kernel's checkers, such as KASAN, only notice
 * when the kernel damages its own memory. They do not notice when the kernel grants a request
 * that it must refuse. This step checks for such requests, by the completions, by memory that
 * must not change, and by the indices of rings.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "judge.h"

#define PATIENCE	1000	/* ms; maximum wait of a judge */
#define QUIET_FOR	20	/* ms; wait for an end that has no completion */

void iwt_judged_say(struct judge *j, const char *name, const char *what)
{
	snprintf(iwt_tally->wrong, sizeof(iwt_tally->wrong), "%s: %s", name, what);
	dprintf(STDOUT_FILENO, "# a mistake had an effect: %s: %s\n", name, what);
	__atomic_fetch_add(&iwt_tally->wrongs, 1, __ATOMIC_RELAXED);
}

static void saw(struct judge *j, int which, const struct iwt_cqe *e)
{
	bool good = e->status == IBV_WC_SUCCESS;

	j->good[which] += good;
	j->bad[which] += !good;
	if (which == TX && e->wr_id == WRONG_ID) {
		j->wrong_known = true;
		j->wrong_good = good;
	}
}

void iwt_judged_collect(struct judge *j)
{
	int i;

	for (i = 0; i < 2; i++) {
		const struct ring *r = &j->cq[i].ring[0];
		uint32_t prod = __atomic_load_n(&iwt_ctl(r)->prod, __ATOMIC_ACQUIRE);
		struct iwt_cqe e;

		while (j->seen[i] != prod) {
			memcpy(&e, iwt_slot(r, j->seen[i]++), sizeof(e));
			saw(j, i, &e);
		}
		if (i != TX || !j->keep)
			__atomic_store_n(&iwt_ctl(r)->cons, prod, __ATOMIC_RELEASE);
	}
}

/* Reads completions until @done() returns true. Return: false after the time limit. */
static bool wait_until(struct judge *j, bool (*done)(const struct judge *j))
{
	int ms;

	for (ms = j->quiet ? PATIENCE - QUIET_FOR : 0; ms < PATIENCE; ms++) {
		iwt_judged_collect(j);
		if (done(j))
			return true;
		usleep(1000);
	}
	return false;
}

void iwt_judged_post(struct judge *j, const void *wqe, size_t len)
{
	const struct ring *r = &j->qp[TX].ring[0];
	uint32_t prod = iwt_ctl(r)->prod;

	memcpy(iwt_slot(r, prod), wqe, len < r->stride ? len : r->stride);
	__atomic_store_n(&iwt_ctl(r)->prod, prod + 1, __ATOMIC_SEQ_CST);
}

/* Posts correct receives. If the mistake @x is in a receive, the second receive is wrong. */
static void post_recvs(struct judge *j, const struct wrong *x)
{
	const struct ring *r = &j->qp[RX].ring[1];
	uint32_t i;

	for (i = 0; i < JUDGED_WRS; i++) {
		struct {
			struct iwt_recv_wqe w;
			struct iwt_sge sge[JUDGED_SGES];
		} wqe = {
			{ .wr_id = i + 1, .num_sge = 1 },
			{ { REGION_AT(MINE) + 0x300, JUDGED_RECV, j->mr[MINE].num } },
		};

		j->recv = &wqe.w;
		if (i == 1 && x->may & IN_RECV)
			x->make(j, NULL, wqe.sge);
		memcpy(iwt_slot(r, i), &wqe, sizeof(wqe));
	}
	__atomic_store_n(&iwt_ctl(r)->prod, i, __ATOMIC_SEQ_CST);
	iwt_ring_bell(j->f, &j->qp[RX]);
}

/* Builds a correct request. A request other than an atomic operation has JUDGED_RECV bytes. */
void iwt_judged_right(struct judge *j, struct judged_wqe *q, uint8_t op)
{
	bool atomic = op == IWT_WR_FETCH_ADD || op == IWT_WR_CMP_SWAP;

	memset(q, 0, sizeof(*q));
	q->w = (struct iwt_send_wqe) {
		.wr_id = WRONG_ID, .opcode = op, .flags = IWT_WR_SIGNALED, .num_sge = 1,
		.remote_addr = REGION_AT(MINE) + 0x200 + 8 * iwt_below(j->f, 8),
		.rkey = op == IWT_WR_SEND ? 0 : j->mr[MINE].num,
	};
	q->sge[0] = (struct iwt_sge) {
		REGION_AT(MINE) + 8 * iwt_below(j->f, 32), atomic ? 8 : JUDGED_RECV,
		j->mr[MINE].num,
	};
	if (atomic)
		memcpy(&q->sge[1], (uint64_t[]){ iwt_rnd(j->f), 0 }, 16);
}

static bool went_well(const struct judge *j)
{
	return (j->good[TX] && (j->good[RX] || !j->receives)) || j->bad[TX] || j->bad[RX];
}

/* Posts a request that must succeed. Otherwise a later refusal would prove nothing. */
static bool do_right(struct judge *j, const struct wrong *x)
{
	static const uint8_t op[] = { IWT_WR_SEND, IWT_WR_READ, IWT_WR_FETCH_ADD };
	struct judged_wqe q;
	bool done;

	iwt_judged_right(j, &q, op[x->may & IN_RECV ? 0 : iwt_below(j->f, 3)]);
	q.w.wr_id = 1;
	/* a Send consumes the first receive */
	j->receives = q.w.opcode == IWT_WR_SEND;
	iwt_judged_post(j, &q, sizeof(q));
	iwt_ring_bell(j->f, &j->qp[TX]);
	done = wait_until(j, went_well) && !j->bad[TX] && !j->bad[RX];
	iwt_count(J_RIGHT, done ? 0 : ETIME);
	return done;
}

/*
 * Return: true if the receiver has noticed the end of the stream, and the wrong request has
 * completed or does not exist.
 */
static bool is_over(const struct judge *j)
{
	return j->bad[RX] && (j->wrong_known || j->no_request);
}

static void do_wrong(struct judge *j, const struct wrong *x)
{
	struct judged_wqe q;

	memset(j->good, 0, sizeof(j->good));
	j->no_request = x->may & IN_RING;
	j->quiet = x->may & QUIET;
	iwt_judged_right(j, &q, x->ops[iwt_below(j->f, x->n_ops)]);
	if (!(x->may & IN_RECV))
		x->make(j, &q.w, q.sge);
	if (!j->no_request)
		iwt_judged_post(j, &q, sizeof(q));
	iwt_ring_bell(j->f, &j->qp[TX]);
	iwt_count(J_WRONG, wait_until(j, is_over) || j->quiet ? 0 : ETIME);
}

static bool changed(const struct judge *j, uint64_t from, uint64_t to)
{
	return memcmp(j->was + (from - JUDGED), (const void *)(uintptr_t)from, to - from);
}

/* Fills the memory JUDGED with new random bytes, and stores a copy of the bytes in @was. */
void iwt_judged_pattern(struct judge *j)
{
	uint32_t i;

	for (i = 0; i < JUDGED_BYTES; i++)
		j->was[i] = iwt_rnd(j->f);
	memcpy((void *)JUDGED, j->was, JUDGED_BYTES);
}

/* Return: true if memory outside the region MINE has changed. */
bool iwt_judged_beyond(const struct judge *j)
{
	uint64_t end = REGION_AT(MINE) + REGION_BYTES;

	return changed(j, JUDGED, REGION_AT(MINE)) || changed(j, end, JUDGED + JUDGED_BYTES);
}

static void judge_memory(struct judge *j, const struct wrong *x)
{
	if (iwt_judged_beyond(j))
		iwt_judged_say(j, x->name, "memory outside the region has changed");
	if (!(x->may & TOUCHES) && changed(j, REGION_AT(MINE), REGION_AT(MINE) + REGION_BYTES))
		iwt_judged_say(j, x->name, "the region has changed");
}

/* @posted: number of send requests that were posted */
static void judge_rings(struct judge *j, const struct wrong *x, uint32_t posted)
{
	const struct ring *cq = &j->cq[TX].ring[0];
	uint32_t prod = __atomic_load_n(&iwt_ctl(cq)->prod, __ATOMIC_ACQUIRE);

	if (prod - iwt_ctl(cq)->cons > cq->entries)
		iwt_judged_say(j, x->name, "more completions than the queue has room for");
	if ((int32_t)(iwt_ctl(&j->qp[TX].ring[0])->cons - posted) > 0 || prod > posted)
		iwt_judged_say(j, x->name, "more requests taken or completed than were posted");
}

static void judge(struct judge *j, const struct wrong *x)
{
	uint32_t posted;

	iwt_judged_pattern(j);
	post_recvs(j, x);
	if (!do_right(j, x))
		return;
	memcpy(j->was, (void *)JUDGED, JUDGED_BYTES);
	do_wrong(j, x);
	/* entries that exist only by a wrong index do not count as posted */
	posted = x->may & FILLS ? JUDGED_FEW + 5 : x->may & IN_RING ? 1 : 2;
	if (j->wrong_good && !(x->may & TOLD))
		iwt_judged_say(j, x->name, "the sender's request completed with success");
	if (j->good[RX] && !(x->may & FILLS))
		iwt_judged_say(j, x->name, "the receiver's request completed with success");
	judge_memory(j, x);
	judge_rings(j, x, posted);
}

static void wrong_one(struct judge *j)
{
	const struct wrong *x = &iwt_wrongs[iwt_below(j->f, iwt_n_wrongs)];

	if (iwt_judged_begin(j, x->may & FILLS ? JUDGED_FEW : 4 * JUDGED_WRS))
		judge(j, x);
}

void iwt_op_judge(struct fuzz *f)
{
	struct judge j = { .f = f, .wrs = JUDGED_WRS };
	int hot = f->hot;

	/* other threads or processes could change the same rings and memory at the same time */
	if (!f->w->alone || f->child)
		return;
	f->hot = 0;
	switch (iwt_below(f, 10)) {
	case 0:
	case 1:
		iwt_judged_answers(&j);
		break;
	case 2:
	case 3:
	case 4:
		iwt_judged_race(&j);
		break;
	default:
		wrong_one(&j);
	}
	iwt_judged_end(&j);
	f->hot = hot;
}
