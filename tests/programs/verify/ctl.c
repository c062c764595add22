// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: the control channel. The client sends cases over it. During a case both sides
 * exchange values (iwt_sync()), and at the end verdicts.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "patience.h"
#include "verify.h"

enum { MSG_CASE = 0x69770001, MSG_SYNC, MSG_VERDICT };

struct message {
	uint32_t type;
	int32_t rc;
	union {
		struct iwt_case k;
		struct iwt_sync sync;
		char err[IWT_ERRLEN];
	};
};

int iwt_fail(struct iwt_ctx *cx, const char *fmt, ...)
{
	va_list ap;

	if (!cx->err[0]) {
		va_start(ap, fmt);
		vsnprintf(cx->err, sizeof(cx->err), fmt, ap);
		va_end(ap);
	}
	return -1;
}

static void swap_words(uint32_t *first, const void *end)
{
	uint32_t *w;

	for (w = first; w != end; w++)
		*w = htonl(*w);
}

/* Converts a message between host and network byte order. @type: its type in host byte order */
static void swap_message(struct message *m, uint32_t type)
{
	swap_words(&m->type, &m->k);
	if (type == MSG_CASE) {
		swap_words(&m->k.kind, &m->k.max_size);
		m->k.max_size = htobe64(m->k.max_size);
		swap_words(&m->k.use_events, &m->k + 1);
	} else if (type == MSG_SYNC) {
		m->sync.addr = htobe64(m->sync.addr);
		swap_words(m->sync.rkey, &m->sync + 1);
	}
}

static int transfer_octets(struct iwt_ctx *cx, struct message *m, bool out)
{
	char *p = (char *)m;
	size_t left = sizeof(*m);

	while (left) {
		struct pollfd pfd = { .fd = cx->ctl, .events = out ? POLLOUT : POLLIN };
		ssize_t n;

		/* the peer may spend cx->o.timeout in more than one step before it answers */
		if (patient_poll(&pfd, 1, cx->o.timeout * 3 * 1000) <= 0) {
			cx->ctl_dead = true;
			return iwt_fail(cx, "no word from the peer");
		}
		n = out ? send(cx->ctl, p, left, MSG_NOSIGNAL) : recv(cx->ctl, p, left, 0);
		if (n <= 0) {
			cx->ctl_dead = true;
			return iwt_fail(cx, "the control channel is gone");
		}
		p += n;
		left -= n;
	}
	return 0;
}

static int transfer(struct iwt_ctx *cx, struct message *m, bool out)
{
	int ret;

	if (out)
		swap_message(m, m->type);
	ret = transfer_octets(cx, m, out);
	if (!ret && !out)
		swap_message(m, ntohl(m->type));
	return ret;
}

static int ctl_socket(struct iwt_ctx *cx, struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM, 0), one = 1, lfd;
	struct patience p = {};

	if (fd < 0)
		return -1;
	if (!cx->o.server) {
		while (connect(fd, ai->ai_addr, ai->ai_addrlen)) {
			close(fd);
			if (!patient(&p, cx->o.timeout, 0))
				return -1;
			usleep(50000);
			fd = socket(ai->ai_family, SOCK_STREAM, 0);
		}
		return fd;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1)) {
		close(fd);
		return -1;
	}
	lfd = fd;
	fd = accept(lfd, NULL, NULL);
	close(lfd);
	return fd;
}

int iwt_ctl_open(struct iwt_ctx *cx)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *ai;
	char port[16];

	snprintf(port, sizeof(port), "%d", cx->o.port + 1);
	if (getaddrinfo(cx->o.addr, port, &hints, &ai))
		return iwt_fail(cx, "bad address %s", cx->o.addr);
	cx->ctl = ctl_socket(cx, ai);
	freeaddrinfo(ai);
	if (cx->ctl < 0)
		return iwt_fail(cx, "control channel to %s port %s: %s", cx->o.addr, port,
				strerror(errno));
	return 0;
}

int iwt_ctl_send_case(struct iwt_ctx *cx, const struct iwt_case *k)
{
	struct message m = { .type = MSG_CASE, .k = *k };

	return transfer(cx, &m, true);
}

int iwt_ctl_recv_case(struct iwt_ctx *cx, struct iwt_case *k)
{
	struct message m;

	if (transfer(cx, &m, false))
		return -1;
	if (m.type != MSG_CASE)
		return iwt_fail(cx, "the control channel is out of step");
	*k = m.k;
	return 0;
}

static void note_peer(struct iwt_ctx *cx, const struct message *m)
{
	cx->peer_failed = true;
	memcpy(cx->peer_err, m->err, sizeof(cx->peer_err));
	cx->peer_err[IWT_ERRLEN - 1] = 0;
}

/*
 * Waits until the peer calls this function, too, and exchanges values with the peer. @mine:
 * values for the peer, or NULL. @theirs: values of the peer, or NULL. Return: 0 or -1
 */
int iwt_sync(struct iwt_ctx *cx, const struct iwt_sync *mine, struct iwt_sync *theirs)
{
	struct message m = { .type = MSG_SYNC };

	if (mine)
		m.sync = *mine;
	if (transfer(cx, &m, true) || transfer(cx, &m, false))
		return -1;
	if (m.type == MSG_VERDICT) {
		note_peer(cx, &m);
		return iwt_fail(cx, "the peer gave up");
	}
	if (m.type != MSG_SYNC)
		return iwt_fail(cx, "the control channel is out of step");
	if (theirs)
		*theirs = m.sync;
	return 0;
}

/*
 * Ends a case on both sides. @rc: result of this side, 0 or -1. Return: 0 if the case has passed
 * on both sides, else -1
 */
int iwt_verdict(struct iwt_ctx *cx, int rc)
{
	struct message m = { .type = MSG_VERDICT, .rc = rc };

	memcpy(m.err, cx->err, sizeof(m.err));
	if (transfer(cx, &m, true))
		return -1;
	while (!cx->peer_failed) {
		if (transfer(cx, &m, false))
			return -1;
		if (m.type != MSG_VERDICT)
			continue;	/* message of an iwt_sync() that this side did not call */
		if (!m.rc)
			break;
		note_peer(cx, &m);
	}
	return rc || cx->peer_failed ? -1 : 0;
}

/* Called while this side waits. Return: has the peer ended the case with a failure? */
bool iwt_peer_gave_up(struct iwt_ctx *cx)
{
	struct pollfd pfd = { .fd = cx->ctl, .events = POLLIN };
	struct message m;

	if (poll(&pfd, 1, 0) <= 0)
		return false;
	if (recv(cx->ctl, &m, sizeof(m), MSG_PEEK | MSG_DONTWAIT) != sizeof(m))
		return false;
	return ntohl(m.type) == MSG_VERDICT && m.rc;
}
