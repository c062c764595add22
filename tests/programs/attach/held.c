// SPDX-License-Identifier: GPL-2.0
/*
 * A process or a module owns a socket (lock_sock()) for an unlimited time. The tests check that
 * the driver does not wait until this owner releases the socket.
 *
 * A process owns its socket while a system call waits for a page of the process's memory, and the
 * process decides when the page arrives (userfaultfd(2)). The module iwt_held owns sockets at
 * moments that no process can choose, and in kernels without userfaultfd.
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
#include "patience.h"

#define PAGE	4096

static char *slow;
static int faults;

/*
 * Writes the command @word to the module iwt_held, followed by @fd unless @fd is negative.
 * Return: false if the module is not loaded or refuses the command.
 */
bool iwt_ctl(const char *word, int fd)
{
	int ctl = open(IWT_HELD_CTL, O_WRONLY), len;
	char line[64];
	bool good;

	len = snprintf(line, sizeof(line), fd < 0 ? "%s" : "%s %d", word, fd);
	good = ctl >= 0 && write(ctl, line, len) == len;
	if (!good)
		printf("# %s: %s\n", line, strerror(errno));
	close(ctl);
	return good;
}

/*
 * Makes @slow a page that is missing: a system call that reads the page waits until let_go().
 * Return: false if the kernel has no userfaultfd.
 */
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

static void wait_fault(void)
{
	struct pollfd pfd = { .fd = faults, .events = POLLIN };

	if (patient_poll(&pfd, 1, PATIENCE * 1000) != 1)
		iwt_die("page fault");
}

static void let_go(pthread_t thread)
{
	struct uffdio_zeropage zero = { .range = { .start = (uintptr_t)slow, .len = PAGE } };

	if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
		iwt_die("UFFDIO_ZEROPAGE");
	pthread_join(thread, NULL);
	madvise(slow, PAGE, MADV_DONTNEED);
}

/*
 * Attaches in both roles must fail with EBUSY, although another task owns the socket all the
 * time.
 */
static void refused(int fds[2], const char *who)
{
	static const char frame[] = "MPA ID Req Frame\x40\x01\x00\x00";
	struct iwtdv_request req = { .frame_len = 20 };
	struct iwtdv_conn_param param = {};
	struct iwtdv_conn conn;
	struct end *e = iwt_open();
	char what[80];

	memcpy(req.frame, frame, 20);
	e->fd = fds[0];
	snprintf(what, sizeof(what), "%s: a responder is refused", who);
	iwt_is(iwtdv_accept(e->qp, e->fd, &req, &param, &conn), EBUSY, what);
	snprintf(what, sizeof(what), "%s: an initiator is refused", who);
	iwt_is(iwt_connect(e, NULL, NULL), EBUSY, what);
	e->fd = -1;
	iwt_close(e);
	snprintf(what, sizeof(what), "%s: the refusals do not wait for the owner", who);
	iwt_ok(true, what);
}

static void in_send(void)
{
	pthread_t thread;
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	if (pthread_create(&thread, NULL, send_slow, &fds[0]))
		iwt_die("pthread_create");
	wait_fault();
	refused(fds, "in send()");
	let_go(thread);
	iwt_ok(iwt_say(fds[1], "text") && iwt_hear(fds[0], "text"),
	       "in send(): TCP can use the socket afterwards");
	close(fds[0]);
	close(fds[1]);
}

/*
 * Moves the queue pair of @e[0] to the error state. @e[1] notices this only when iwt_held has
 * released the socket.
 */
static void ends(struct end *e[2], bool destroy, const char *who)
{
	char what[80];

	snprintf(what, sizeof(what), "%s: the queue pair goes to the error state", who);
	iwt_is(iwt_modify(e[0], IBV_QPS_ERR), 0, what);
	snprintf(what, sizeof(what), "%s: all requests are flushed", who);
	iwt_ok(iwt_failed(e[0]), what);
	if (destroy)
		iwt_destroy_qp(e[0]);
	snprintf(what, sizeof(what), "%s: %s", who, destroy ? "destroyed" : "ended");
	iwt_ok(true, what);
}

/*
 * @how: command for iwt_held. "hold": the module takes the ownership of the socket now. "ambush":
 * the module takes the ownership just before the next caller of lock_sock().
 */
static void by_module(const char *how, bool destroy)
{
	struct end *e[2];
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	iwt_attach_pair(e, fds);
	if (!iwt_ctl(how, fds[0])) {
		iwt_skip(how, "this kernel has no probe there");
		iwt_close_pair(e);
		return;
	}
	ends(e, destroy, how);
	iwt_ok(iwt_ctl("end", -1) && iwt_failed(e[1]),
	       "the peer sees the end after the release of the socket");
	iwt_close_pair(e);
}

/*
 * A socket that iwt_held owns cannot be attached. After iwt_held has released the socket, the
 * program can use the socket as before.
 */
static void taken(void)
{
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	iwt_ok(iwt_ctl("hold", fds[0]), "hold: iwt_held owns a socket");
	refused(fds, "hold");
	iwt_ok(iwt_ctl("end", -1) && iwt_say(fds[1], "text") && iwt_hear(fds[0], "text"),
	       "hold: TCP can use the socket afterwards");
	close(fds[0]);
	close(fds[1]);
}

/*
 * A thread of iwt_held owns the socket most of the time, and processes the arriving segments when
 * it releases the socket. Therefore this thread often runs the socket's callbacks just when the
 * attach replaces them.
 */
static void pulse(void)
{
	bool good[2], all = true;
	struct end *e[2];
	int fds[2], i;

	for (i = 0; i < 40; i++) {
		iwt_tcp_pair(iwt_ip, fds);
		all &= iwt_ctl("pulse", fds[i % 2]);
		iwt_attach_pair(e, fds);
		iwt_bursts(e, 3, good);
		all &= good[0] && good[1];
		iwt_destroy_qp(e[i / 2 % 2]);
		all &= iwt_failed(e[!(i / 2 % 2)]) && iwt_ctl("end", -1);
		iwt_close_pair(e);
	}
	iwt_ok(all, "pulse: connections are made, used and ended");
}

void iwt_held(void)
{
	if (make_slow()) {
		in_send();
	} else {
		iwt_skip("an attach during a system call that does not end",
			 "this kernel has no userfaultfd");
	}
	taken();
	by_module("hold", false);
	by_module("hold", true);
	by_module("ambush", false);
	by_module("ambush", true);
	pulse();
}

/*
 * Makes a connection, lets iwt_held own its socket (@how is "hold" or "ambush"), and waits until
 * the connection ends, because a script removes the link meanwhile. Return: exit status, 4 if
 * iwt_held refuses @how.
 */
int iwt_owned(const char *how)
{
	struct end *e[2];
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	iwt_attach_pair(e, fds);
	if (!iwt_ctl(how, fds[0]))
		return 4;
	printf("owned\n");
	fflush(stdout);
	/* poll() is not woken up while iwt_held owns the socket, so call poll() repeatedly */
	while (!iwt_hung_up(fds[0]))
		;
	printf("over\n");
	return 0;
}

/*
 * Posts a request while iwt_held owns the socket of the connection for @seconds, and destroys the
 * queue pair in the middle of this time.
 */
void iwt_busy(int seconds)
{
	struct end *e[2];
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	iwt_attach_pair(e, fds);
	iwt_ok(iwt_ctl("hold", fds[0]) && iwt_post(e[0], "text"),
	       "busy: a request is posted while iwt_held owns the socket");
	sleep(seconds / 2);
	iwt_destroy_qp(e[0]);
	sleep(seconds / 2);
	iwt_ok(iwt_ctl("end", -1) && iwt_failed(e[1]),
	       "busy: the connection ends when the socket has no owner");
	iwt_close_pair(e);
}
