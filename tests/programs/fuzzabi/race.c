// SPDX-License-Identifier: GPL-2.0
/*
 * A part of iwt_op_judge() (judge.h): an entry of a ring changes between the kernel's first and
 * second read. The queues have one entry. On another processor, a child process repeatedly makes
 * one field of the entry wrong and right again, while the kernel processes the entry. The kernel
 * must use the values that it has checked. Otherwise the kernel accesses unmapped memory by an
 * unchecked length, or bytes outside the region change.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"

#define TRIES	100

/*
 * A byte of an entry that changes.
 * @recv: the entry is a receive, otherwise a send request
 * @at: offset of the byte in the entry
 * @wrong: wrong value of the byte
 * @op, @flags, @inline_len: values of other fields of a send request
 */
static const struct field {
	bool recv;
	size_t at;
	uint8_t wrong;
	uint8_t op, flags;
	uint32_t inline_len;
} fields[] = {
	{ false, offsetof(struct iwt_send_wqe, num_sge), 255, IWT_WR_WRITE },
	{ false, offsetof(struct iwt_send_wqe, num_sge), 255, IWT_WR_SEND },
	{ false, offsetof(struct iwt_send_wqe, opcode), IWT_WR_MASKED_FETCH_ADD, IWT_WR_FETCH_ADD },
	{ false, offsetof(struct iwt_send_wqe, inline_len) + 1, 0x40, IWT_WR_WRITE, IWT_WR_INLINE, 8 },
	{ false, offsetof(struct iwt_send_wqe, flags), IWT_WR_INLINE, IWT_WR_WRITE, 0, 0x4000 },
	/* the scatter/gather list: another page, length, or key */
	{ false, sizeof(struct iwt_send_wqe) + 1, 0x14, IWT_WR_READ },
	{ false, sizeof(struct iwt_send_wqe) + offsetof(struct iwt_sge, length) + 1, 0x20, IWT_WR_READ },
	{ false, sizeof(struct iwt_send_wqe) + offsetof(struct iwt_sge, lkey), 0, IWT_WR_READ },
	{ true, offsetof(struct iwt_recv_wqe, num_sge), 200 },
	{ true, offsetof(struct iwt_recv_wqe, num_sge) + 1, 0x10 },
	{ true, sizeof(struct iwt_recv_wqe) + 1, 0x14 },
};

/* Spins, so that the other processor sees the last store before the next one. */
static void linger(int turns)
{
	volatile int i;

	for (i = 0; i < turns; i++)
		;
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static pid_t start_flipper(volatile uint8_t *at, uint8_t wrong, uint8_t right)
{
	pid_t pid = fork();
	uint32_t turn = 0;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on(1);
	iwt_guarded = false;
	for (;;) {
		/*
		 * mostly right: if the kernel's first read finds a wrong value, the connection
		 * ends
		 */
		*at = wrong;
		linger(8);
		*at = right;
		linger(100 + turn++ % 64);
	}
}

static void post_recv(struct judge *j)
{
	const struct ring *r = &j->qp[RX].ring[1];
	uint32_t prod = iwt_ctl(r)->prod;
	struct {
		struct iwt_recv_wqe w;
		struct iwt_sge sge;
	} q = {
		{ .wr_id = 1, .num_sge = 1 },
		{ REGION_AT(MINE) + 0x300, JUDGED_RECV, j->mr[MINE].num },
	};

	if (prod != iwt_ctl(r)->cons)
		return;
	memcpy(iwt_slot(r, prod), &q, sizeof(q));
	__atomic_store_n(&iwt_ctl(r)->prod, prod + 1, __ATOMIC_SEQ_CST);
}

/*
 * Posts one request and waits for its completion. Return: true if the request succeeded and the
 * connection continues.
 */
static bool try_one(struct judge *j, const struct field *x)
{
	uint32_t all = j->seen[TX] + 1;
	struct judged_wqe q;
	int ms;

	iwt_judged_right(j, &q, x->recv ? IWT_WR_SEND : x->op);
	q.w.flags |= x->flags;
	q.w.inline_len = x->inline_len;
	post_recv(j);
	iwt_judged_post(j, &q, sizeof(q));
	iwt_ring_bell(j->f, &j->qp[TX]);
	for (ms = 0; ms < 50 && j->seen[TX] != all && !j->bad[RX]; ms++) {
		iwt_judged_collect(j);
		if (j->seen[TX] != all)
			usleep(500);
	}
	return j->seen[TX] == all && !j->bad[TX] && !j->bad[RX];
}

/* Returns the right value of the byte @x, which try_one() or post_recv() would write. */
static uint8_t right_octet(struct judge *j, const struct field *x)
{
	struct iwt_recv_wqe recv = { .num_sge = 1 };
	struct iwt_sge sge = { REGION_AT(MINE) + 0x300, JUDGED_RECV, j->mr[MINE].num };
	struct judged_wqe q;

	if (x->recv && x->at >= sizeof(recv))
		return ((uint8_t *)&sge)[x->at - sizeof(recv)];
	if (x->recv)
		return ((uint8_t *)&recv)[x->at];
	iwt_judged_right(j, &q, x->op);
	q.w.flags |= x->flags;
	q.w.inline_len = x->inline_len;
	return ((uint8_t *)&q)[x->at];
}

/* Waits until the child process changes the byte, at most 100 ms. */
static void wait_for_flipper(const volatile uint8_t *at, uint8_t right)
{
	int ms;

	for (ms = 0; ms < 100 && *at == right; ms++)
		usleep(1000);
}

void iwt_judged_race(struct judge *j)
{
	const struct field *x = &fields[iwt_below(j->f, sizeof(fields) / sizeof(fields[0]))];
	uint8_t *at, octet;
	cpu_set_t all;
	pid_t pid;
	int n;

	j->wrs = 1;
	if (!iwt_judged_begin(j, 4 * JUDGED_WRS))
		return;
	iwt_judged_pattern(j);
	at = iwt_slot(&j->qp[x->recv ? RX : TX].ring[x->recv], 0) + x->at;
	sched_getaffinity(0, sizeof(all), &all);
	stay_on(0);
	octet = right_octet(j, x);
	*at = octet;
	pid = start_flipper(at, x->wrong, octet);
	if (pid > 0)
		wait_for_flipper(at, octet);
	for (n = 0; pid > 0 && n < TRIES && try_one(j, x); n++)
		;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	sched_setaffinity(0, sizeof(all), &all);
	/* fewer tries: the kernel has read the wrong value and ended the connection */
	iwt_count(J_RACE, n < TRIES ? 0 : ETIME);
	if (iwt_judged_beyond(j))
		iwt_judged_say(j, "an entry that changes between two reads",
			       "memory outside the region has changed");
}
