// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: page faults that wait until the test ends them (userfaultfd(2)), or that do not
 * end. A peer writes to memory with such page faults, so the stream waits. Nothing except this
 * stream may wait for the page faults.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "odp.h"
#include "patience.h"

#define STREAMS	4	/* streams that wait at the same time */

/* Memory whose page faults wait for the test, and streams. Each stream writes to one page. */
struct stuck {
	int fd;
	uint8_t *at;
	struct ibv_mr *mr;
	struct bench stream[STREAMS];
};

uint8_t *odp_guarded(size_t len, int *fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	uint8_t *at;

	*fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return NULL;
	at = anonymous(len);
	reg.range.start = (uintptr_t)at;
	reg.range.len = len;
	if (ioctl(*fd, UFFDIO_API, &api) || ioctl(*fd, UFFDIO_REGISTER, &reg))
		die("userfaultfd");
	return at;
}

uintptr_t odp_next_fault(int fd)
{
	struct pollfd p = { fd, POLLIN };
	struct uffd_msg msg;

	if (patient_poll(&p, 1, PATIENCE * 1000) != 1 || read(fd, &msg, sizeof(msg)) != sizeof(msg) ||
	    msg.event != UFFD_EVENT_PAGEFAULT)
		die("no page fault");
	return msg.arg.pagefault.address;
}

bool odp_serve(int fd, uint8_t *at, uint8_t what)
{
	uint8_t *fresh = anonymous(PAGE);
	struct uffdio_copy copy = { (uintptr_t)at, (uintptr_t)fresh, PAGE };
	int ret;

	memset(fresh, what, PAGE);
	ret = ioctl(fd, UFFDIO_COPY, &copy);
	munmap(fresh, PAGE);
	return !ret;
}

/* Makes each stream wait for its page. Return: false if the kernel has no userfaultfd */
static bool begin(struct bench *b, struct stuck *s)
{
	int i;

	s->at = odp_guarded(STREAMS * PAGE, &s->fd);
	if (!s->at)
		return false;
	s->mr = reg(b, s->at, STREAMS * PAGE, ALL_ACCESS);
	fill(b->source, SOURCE);
	for (i = 0; i < STREAMS; i++) {
		s->stream[i] = *b;
		s->stream[i].pair = (struct conn){};
		bench_connect(&s->stream[i]);
		bench_post(&s->stream[i], IBV_WR_RDMA_WRITE, PAGE, (uintptr_t)s->at + i * PAGE, s->mr->rkey);
		bench_post(&s->stream[i], IBV_WR_RDMA_READ, 0, 0, 0);
		if (bench_reap(&s->stream[i]))
			die("a Write");
	}
	for (i = 0; i < STREAMS; i++)
		odp_next_fault(s->fd);
	return true;
}

static void end(struct stuck *s)
{
	int i;

	for (i = 0; i < STREAMS; i++)
		conn_drop(&s->stream[i].pair);
	if (s->mr)
		ibv_dereg_mr(s->mr);
	munmap(s->at, STREAMS * PAGE);
	close(s->fd);
}

static bool wait_all(struct stuck *s)
{
	struct ibv_wc wc;
	bool good = true;
	int i;

	for (i = 0; i < STREAMS; i++)
		must(&good, !ibv_poll_cq(s->stream[i].pair.near_cq, 1, &wc), "a stream waits");
	return good;
}

static bool serve(struct bench *b, struct stuck *s)
{
	bool good = true;
	int i;

	for (i = STREAMS - 1; i >= 0; i--) {
		must(&good, odp_serve(s->fd, s->at + i * PAGE, 0x77), "UFFDIO_COPY");
		must(&good, !bench_reap(&s->stream[i]), "a Read behind the Write");
		must(&good, !memcmp(s->at + i * PAGE, b->source, PAGE),
		     "the written octets arrive");
	}
	return good;
}

/*
 * Return: true if another stream of the process continues. This stream writes to absent pages and
 * reads pinned memory.
 */
static bool others_go_on(struct bench *b, struct stuck *s)
{
	uint8_t *at = anonymous(2 * PAGE);
	struct ibv_mr *mr = reg(b, at, 2 * PAGE, ALL_ACCESS);
	bool good = true;
	int i;

	for (i = 0; i < 10; i++) {
		fill(b->source + PAGE, PAGE);
		must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 2 * PAGE, (uintptr_t)at, mr->rkey) &&
		     !memcmp(at, b->source, 2 * PAGE), "a Write of another stream");
		madvise(at, 2 * PAGE, MADV_DONTNEED);
	}
	must(&good, !bench_do(b, IBV_WR_RDMA_READ, PAGE, (uintptr_t)b->source + PAGE, b->source_mr->rkey),
	     "a Read of pinned memory");
	/* make both pages of b->source equal, even if the Read has failed to do so */
	memcpy(b->source, b->source + PAGE, PAGE);
	ibv_dereg_mr(mr);
	munmap(at, 2 * PAGE);
	return good;
}

static void test_served(struct bench *b, struct stuck *s)
{
	uint8_t written[PAGE];
	bool good;

	memcpy(written, b->source, PAGE);
	good = wait_all(s);
	report(others_go_on(b, s) && good && wait_all(s), "page faults that do not end: other streams go on");
	memcpy(b->source, written, PAGE);
	good = serve(b, s);
	end(s);
	report(good, "page faults that end: the streams go on, and all octets arrive");
}

/* Puts one end of a connection into the error state, then drops the connection. */
static void fail(struct bench *b, struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (ibv_modify_qp(id->qp, &attr, IBV_QP_STATE))
		die("ibv_modify_qp");
	conn_drop(&b->pair);
}

/*
 * While streams wait, ends the queue pairs, the region, the region's right to write, the mapping
 * or the connections: @how selects which of these. No call of this function may wait for the page
 * faults.
 */
static void ends_alone(struct bench *b, struct stuck *s, int how)
{
	int i;

	switch (how) {
	case 0:
		for (i = 0; i < STREAMS; i++)
			conn_drop(&s->stream[i].pair);
		break;
	case 1:
		ibv_dereg_mr(s->mr);
		s->mr = NULL;
		break;
	case 2:
		if (ibv_rereg_mr(s->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ | ODP))
			die("ibv_rereg_mr");
		break;
	case 3:
		munmap(s->at, STREAMS * PAGE);
		break;
	case 4:
		/* the peers reset the connections */
		for (i = 0; i < STREAMS; i++)
			fail(&s->stream[i], s->stream[i].pair.near);
		break;
	case 5:
		for (i = 0; i < STREAMS; i++)
			fail(&s->stream[i], s->stream[i].pair.far);
		break;
	}
}

static void test_ends(struct bench *b)
{
	static const char * const what[] = {
		"queue pairs are destroyed", "the region is deregistered", "the region loses the right",
		"the memory is unmapped", "the peers reset the connections", "the queue pairs fail",
	};
	char name[100];
	struct stuck s;
	size_t i;

	for (i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		s = (struct stuck){};
		if (!begin(b, &s))
			return;
		ends_alone(b, &s, i);
		end(&s);
		snprintf(name, sizeof(name), "page faults that do not end: %s", what[i]);
		report(others_go_on(b, &s), name);
	}
	conn_drop(&b->pair);
}

void test_odp_stuck(struct bench *b)
{
	struct stuck s = {};

	if (!begin(b, &s)) {
		skip("page faults that do not end", "this kernel has no userfaultfd");
		return;
	}
	test_served(b, &s);
	test_ends(b);
}

void odp_keep(int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		if (!fcntl(fd, F_SETFD, 0))
			execlp("sleep", "sleep", "300", NULL);
		_exit(1);
	}
	printf("# keeper %d\n", (int)pid);
}

/*
 * Makes streams wait for page faults, and waits until a script kills the process. @other: NULL, or
 * the address of another link, on which streams wait, too. @what: "stay"; "inherit" if another
 * process inherits the connections, so that they do not end with this process; "left" as
 * "inherit", but the region of the streams ends, and other streams wait in a new region; or "exec"
 * to replace the process by another program first
 */
void test_odp_wait(struct bench *b, const char *other, const char *what)
{
	struct bench second = { .address = other, .port = b->port };
	bool left = !strcmp(what, "left"), inherit = left || !strcmp(what, "inherit");
	struct stuck s = {}, s2 = {};

	if (!begin(b, &s)) {
		printf("# no userfaultfd\n");
		return;
	}
	if (inherit)
		cm_inherit();
	if (left) {
		ibv_dereg_mr(s.mr);
		if (!begin(b, &s2) || fcntl(s2.fd, F_SETFD, 0))
			die("another region");
		cm_inherit();
	} else if (other) {
		bench_open(&second);
		if (second.verbs == b->verbs || !begin(&second, &s2) || fcntl(s2.fd, F_SETFD, 0))
			die("another link");
		if (inherit)
			cm_inherit();
	}
	odp_keep(s.fd);
	printf("# waits\n");
	fflush(stdout);
	if (!strcmp(what, "exec"))
		execlp("sleep", "sleep", "1000", NULL);
	pause();
}
