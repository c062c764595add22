// SPDX-License-Identifier: GPL-2.0
/*
 * A system call that owns the socket for as long as it likes: it waits for a page of this
 * process's memory, which comes when the process wants it to (userfaultfd(2)).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"

#define PAGE	4096

static char *slow;
static int faults;

/* Return: false where there is no such thing */
static bool make_slow(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
		return false;
	slow = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)slow;
	reg.range.len = PAGE;
	return slow != MAP_FAILED && !ioctl(faults, UFFDIO_REGISTER, &reg);
}

static void *send_slow(void *arg)
{
	int *fd = arg;

	send(*fd, slow, 16, MSG_NOSIGNAL);
	return NULL;
}

/* The call is under way when this returns. */
static pthread_t hold(int *fd)
{
	struct pollfd pfd = { .fd = faults, .events = POLLIN };
	pthread_t thread;

	if (pthread_create(&thread, NULL, send_slow, fd) || poll(&pfd, 1, -1) != 1)
		iwt_die("page fault");
	return thread;
}

static void let_go(pthread_t thread)
{
	struct uffdio_zeropage zero = { .range = { .start = (uintptr_t)slow, .len = PAGE } };

	if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
		iwt_die("UFFDIO_ZEROPAGE");
	pthread_join(thread, NULL);
	madvise(slow, PAGE, MADV_DONTNEED);
}

void iwt_held(void)
{
	static const char frame[] = "MPA ID Req Frame\x40\x01\x00\x00";
	struct iwtdv_request req = { .frame_len = 20 };
	struct iwtdv_conn_param param = {};
	struct iwtdv_conn conn;
	struct end *e;
	pthread_t thread;
	int fds[2];

	if (!make_slow()) {
		iwt_skip("a system call that does not end", "no userfaultfd here");
		return;
	}
	memcpy(req.frame, frame, 20);
	iwt_tcp_pair(iwt_ip, fds);
	e = iwt_open();
	thread = hold(&fds[0]);
	e->fd = fds[0];
	iwt_is(iwtdv_accept(e->qp, e->fd, &req, &param, &conn), EBUSY,
	       "responder: in a system call that does not end");
	e->fd = -1;
	iwt_close(e);
	iwt_ok(true, "and nothing waits for it");
	let_go(thread);
	close(fds[0]);
	close(fds[1]);
}
