// SPDX-License-Identifier: GPL-2.0
/* Processes die, each after a different step of its connection, or at a random time. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "direct.h"

#define RANDOM_DEATHS	32
#define RANDOM_MS	20

/* The last step of a process before the process dies */
enum step { MADE, INIT, RTR, RTS, POSTED, SENT, TALKED, STEPS };

static const char *const step_names[] = {
	[MADE] = "makes its queue pair", [INIT] = "changes to INIT", [RTR] = "changes to RTR",
	[RTS] = "changes to RTS", [POSTED] = "posts a receive", [SENT] = "posts a Send",
	[TALKED] = "has sent and received", [STEPS] = "lives for a random time",
};

/* Work requests of the process that survives. LATER is posted after SEND has completed. */
enum { RECEIVE, SEND, LATER };

/* The driver waits at least five seconds, although these attributes result in a shorter limit. */
static const struct how short_limit = {
	.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12, .rd_atomic = 4,
};

struct name {
	uint32_t qpn, psn;
};

/*
 * A process that dies after the step @last or after @us microseconds, and the queue pair that is
 * its peer.
 */
struct pair {
	enum step last;
	uint32_t us;
	pid_t pid;
	int fd;
	struct name name;
	struct end end;
};

/* A substitute for the peer's end, with the members that to_rtr() and post_op() use. */
struct stub {
	struct ibv_qp qp;
	struct end end;
};

static void stub_make(struct stub *s, struct side *side, struct name name)
{
	*s = (struct stub) {
		.qp.qp_num = name.qpn,
		.end = { .side = side, .psn = name.psn },
	};
	s->end.qp = &s->qp;
}

static void reached(enum step step, enum step last)
{
	if (step == last)
		raise(SIGKILL);
}

static void must(int err)
{
	if (!err)
		return;
	errno = err;
	die("a process that dies later");
}

/* Waits for a completion without polling all the time: many processes wait at once. */
static struct ibv_wc completion(struct end *e)
{
	struct patience p = {};
	struct ibv_wc wc;
	int got;

	for (;;) {
		got = ibv_poll_cq(e->cq, 1, &wc);
		if (got > 0)
			return wc;
		if (got < 0 || !patient(&p, PATIENCE, 0)) {
			errno = got < 0 ? EIO : ETIMEDOUT;
			die("a completion");
		}
		usleep(500);
	}
}

/*
 * The code of the process that dies: connects, and dies after the step @last or after @us
 * microseconds.
 */
static void live(int fd, enum step last, uint32_t us)
{
	const struct itimerval timer = { .it_value.tv_usec = us };
	struct side mine = {};
	struct name name;
	struct stub peer;
	struct end x;

	side_open(&mine, a.name, a.net, a.gid_index);
	end_make(&x, &mine);
	name = (struct name) { x.qp->qp_num, x.psn };
	if (write(fd, &name, sizeof(name)) != sizeof(name) ||
	    read(fd, &name, sizeof(name)) != sizeof(name))
		die("the other process");
	stub_make(&peer, &b, name);
	if (us && setitimer(ITIMER_REAL, &timer, NULL))
		die("setitimer");
	reached(MADE, last);
	must(to_init(&x));
	reached(INIT, last);
	must(to_rtr(&x, &peer.end, &usual));
	reached(RTR, last);
	must(to_rts(&x, &usual));
	reached(RTS, last);
	must(post_recv(&x, 1));
	reached(POSTED, last);
	must(post_op(&x, IBV_WR_SEND, 2, &peer.end));
	reached(SENT, last);
	must(completion(&x).status ? EIO : 0);
	must(completion(&x).status ? EIO : 0);
	reached(TALKED, last);
	pause();
	die("the process does not die");
}

/* Starts a process, which waits for go(). */
static void begin(struct pair *p, enum step last)
{
	int fd[2];

	p->last = last;
	end_make(&p->end, &b);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		die("socketpair");
	fflush(stdout);
	p->us = last == STEPS ? 1 + below(1000 * RANDOM_MS) : 0;
	p->pid = fork();
	if (p->pid < 0)
		die("fork");
	if (!p->pid) {
		close(fd[0]);
		live(fd[1], last, p->us);
	}
	close(fd[1]);
	p->fd = fd[0];
	if (read(p->fd, &p->name, sizeof(p->name)) != sizeof(p->name))
		die("the process does not begin");
}

/* Connects the queue pair of this process, and lets the other process go on. */
static void go(struct pair *p)
{
	struct name name = { p->end.qp->qp_num, p->end.psn };
	struct stub peer;

	stub_make(&peer, &a, p->name);
	must(connect_end(&p->end, &peer.end, &short_limit));
	must(post_recv(&p->end, RECEIVE));
	must(post_op(&p->end, IBV_WR_SEND, SEND, &peer.end));
	if (write(p->fd, &name, sizeof(name)) != sizeof(name))
		die("the process has died too early");
}

/* Waits for the completion of @want; keeps the status of each completion in @status. */
static void wait_for(struct pair *p, int want, int *status)
{
	struct ibv_wc wc;

	while (status[want] < 0) {
		wc = completion(&p->end);
		status[wc.wr_id] = wc.status;
	}
}

/* Checks the completions of this process's queue pair after the other process has died. */
static bool completes(struct pair *p)
{
	int status[] = { [RECEIVE] = -1, [SEND] = -1, [LATER] = -1 };
	struct stub peer;

	wait_for(p, SEND, status);
	if (!status[SEND]) {
		stub_make(&peer, &a, p->name);
		must(post_op(&p->end, IBV_WR_SEND, LATER, &peer.end));
		wait_for(p, LATER, status);
	}
	wait_for(p, RECEIVE, status);
	printf("# Send: %d, later Send: %d, receive: %d\n", status[SEND], status[LATER],
	       status[RECEIVE]);
	if (p->last < RTR)
		return status[SEND] == IBV_WC_RETRY_EXC_ERR &&
		       status[RECEIVE] == IBV_WC_WR_FLUSH_ERR;
	if (p->last == TALKED && (status[SEND] || status[RECEIVE]))
		return false;
	return (status[SEND] == IBV_WC_RETRY_EXC_ERR || status[LATER] == IBV_WC_RETRY_EXC_ERR) &&
	       (!status[RECEIVE] || status[RECEIVE] == IBV_WC_WR_FLUSH_ERR);
}

/*
 * Waits until the process has died. Checks the completions of its peer, and that the peer can
 * connect again.
 */
static void judge(struct pair *p)
{
	const char *what = step_names[p->last];
	struct end x;
	int status;

	if (waitpid(p->pid, &status, 0) != p->pid)
		die("waitpid");
	close(p->fd);
	if (!WIFSIGNALED(status)) {
		report(false, "a process dies when it %s", what);
		return;
	}
	if (p->us)
		printf("# after %u us\n", p->us);
	report(completes(p), "a process dies when it %s: the completions of its peer", what);
	end_make(&x, &a);
	must(to_state(&p->end, IBV_QPS_RESET));
	must(connect_end(&p->end, &x, &usual));
	must(connect_end(&x, &p->end, &usual));
	report(talk(&x, &p->end), "a process dies when it %s: its peer connects again", what);
	end_drop(&x);
	end_drop(&p->end);
}

void test_die(void)
{
	struct pair pairs[STEPS + RANDOM_DEATHS] = {};
	const int n = sizeof(pairs) / sizeof(pairs[0]);
	int i;

	for (i = 0; i < n; i++)
		begin(&pairs[i], i < STEPS ? i : STEPS);
	for (i = 0; i < n; i++)
		go(&pairs[i]);
	for (i = 0; i < n; i++)
		judge(&pairs[i]);
}
