// SPDX-License-Identifier: GPL-2.0
/* Steps: delayed startup on sockets by methods of the driver. The process has both ends. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzzabi.h"

#define FRAME		532
#define PATIENCE	500	/* ms */

struct frame {
	uint8_t at[FRAME];
	size_t len;
};

static struct iwt_mpa_param some_param(struct fuzz *f)
{
	return (struct iwt_mpa_param) {
		.ird = 1 + iwt_below(f, 8), .ord = 1 + iwt_below(f, 8),
		.flags = iwt_chance(f, 20) ? IWT_MPA_PLAIN : 0,
	};
}

static size_t frame_length(const uint8_t *at)
{
	return 20 + (at[18] << 8 | at[19]);
}

static void add_private(struct fuzz *f, struct call *c)
{
	if (iwt_chance(f, 30))
		iwt_in(c, IWT_ATTR_MPA_PRIVATE_DATA, (void *)DATA, 9 + iwt_below(f, 100));
}

/* Adds queue pair, socket and parameters to a call. @param must be valid until iwt_send(). */
static void add_end(struct call *c, const struct obj *qp, int fd, struct iwt_mpa_param *param)
{
	iwt_handle(c, IWT_ATTR_MPA_QP, qp->handle);
	iwt_handle(c, IWT_ATTR_MPA_FD, fd);
	iwt_in(c, IWT_ATTR_MPA_PARAM, param, sizeof(*param));
}

static bool request(struct fuzz *f, const struct obj *qp, int fd, struct frame *to)
{
	struct iwt_mpa_param param = some_param(f);
	struct call c;

	iwt_call(&c, I_MPA_REQUEST, UVERBS_OBJECT_QP, IWT_METHOD_MPA_REQUEST);
	add_end(&c, qp, fd, &param);
	add_private(f, &c);
	iwt_out(&c, IWT_ATTR_MPA_FRAME, f->out, FRAME);
	if (iwt_send(f, iwt_fd(f->w, qp), &c))
		return false;
	memcpy(to->at, f->out, FRAME);
	to->len = frame_length(to->at);
	return to->len <= FRAME;
}

static bool attach(struct fuzz *f, const struct obj *qp, int fd, struct frame *req,
		   struct frame *rep)
{
	struct iwt_mpa_param param = some_param(f);
	struct call c;

	iwt_call(&c, I_MPA_ATTACH, UVERBS_OBJECT_QP, IWT_METHOD_MPA_START);
	add_end(&c, qp, fd, &param);
	if (!rep)
		add_private(f, &c);
	if (iwt_hot(f) && iwt_chance(f, 40))
		iwt_mutate(f, req->at, req->len);
	iwt_in(&c, IWT_ATTR_MPA_REQUEST, req->at, req->len);
	if (rep)
		iwt_in(&c, IWT_ATTR_MPA_REPLY, rep->at, rep->len);
	iwt_out(&c, IWT_ATTR_MPA_RESULT, f->out, sizeof(struct iwt_mpa_result));
	return !iwt_send(f, iwt_fd(f->w, qp), &c);
}

static void reject(struct fuzz *f, int ctx, const struct frame *req)
{
	struct call c;

	iwt_call(&c, I_MPA_REJECT, UVERBS_OBJECT_DEVICE, IWT_METHOD_MPA_REJECT);
	add_private(f, &c);
	iwt_in(&c, IWT_ATTR_MPA_REQUEST, req->at, req->len);
	iwt_out(&c, IWT_ATTR_MPA_FRAME, f->out, FRAME);
	iwt_send(f, f->w->ctx[ctx], &c);
}

static bool read_frame(int fd, struct frame *to)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	to->len = 0;
	while (to->len < 20 || to->len < frame_length(to->at)) {
		size_t most = to->len < 20 ? 20 - to->len : frame_length(to->at) - to->len;

		if (to->len + most > FRAME || poll(&p, 1, PATIENCE) != 1)
			return false;
		n = recv(fd, to->at + to->len, most, MSG_DONTWAIT);
		if (n <= 0)
			return false;
		to->len += n;
	}
	return true;
}

/* Closes all older connections that wait in the listener, and then connects two TCP sockets. */
static bool dial(struct fuzz *f, int fd[2])
{
	struct pollfd p = { .fd = f->w->listener, .events = POLLIN };

	while ((fd[1] = accept4(f->w->listener, NULL, NULL, 0)) >= 0)
		close(fd[1]);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd[0] < 0)
		return false;
	connect(fd[0], (struct sockaddr *)&f->w->address, sizeof(f->w->address));
	if (poll(&p, 1, PATIENCE) == 1)
		fd[1] = accept4(f->w->listener, NULL, NULL, SOCK_NONBLOCK);
	if (fd[1] >= 0)
		return true;
	close(fd[0]);
	return false;
}

/* Closes the descriptors, or keeps them for later steps. */
static void keep(struct fuzz *f, const int fd[2])
{
	int i;

	for (i = 0; i < 2; i++)
		if (iwt_chance(f, 50))
			close(fd[i]);
		else
			iwt_new(f, SOCKET, 0, fd[i]);
}

/* Connects the queue pair @from to the queue pair @to. Return: true if this succeeded. */
bool iwt_attach(struct fuzz *f, struct obj *from, struct obj *to)
{
	struct frame req, rep;
	bool done = false;
	int fd[2];

	if (!dial(f, fd))
		return false;
	if (request(f, from, fd[0], &req) &&
	    write(fd[0], req.at, req.len) == (ssize_t)req.len &&
	    read_frame(fd[1], &req)) {
		struct frame seen = req;

		if (f->hot && iwt_chance(f, 10))
			reject(f, to->ctx, &req);
		done = attach(f, to, fd[1], &seen, NULL) && read_frame(fd[0], &rep) &&
		       attach(f, from, fd[0], &req, &rep);
	}
	keep(f, fd);
	return done;
}

/* Makes two queue pairs with receives posted, and connects them. */
void iwt_op_pair(struct fuzz *f)
{
	struct obj *from, *to;

	from = iwt_make_qp(f);
	to = iwt_make_qp(f);
	if (!from || !to || from == to)
		return;
	iwt_post_recvs(f, from, 16);
	iwt_post_recvs(f, to, 16);
	if (iwt_attach(f, from, to))
		from->connected = to->connected = true;
}

void iwt_op_attach(struct fuzz *f)
{
	struct obj *from = iwt_pick(f, QP, -1), *to = iwt_pick(f, QP, -1);

	if (from && to)
		iwt_attach(f, from, to);
}

/* Calls one method with frames that no peer has sent, on a socket or another descriptor. */
void iwt_op_frames(struct fuzz *f)
{
	static const char key[2][17] = { "MPA ID Req Frame", "MPA ID Rep Frame" };
	struct obj *s = iwt_pick(f, SOCKET, -1), *qp = iwt_pick(f, QP, -1);
	int fd = s && iwt_chance(f, 70) ? (int)s->handle : (int)iwt_below(f, 40);
	struct frame a = {}, b = {};

	a.len = b.len = 20 + 4;
	memcpy(a.at, key[0], 16);
	memcpy(b.at, key[1], 16);
	a.at[16] = b.at[16] = 0x50;
	a.at[17] = b.at[17] = 2;
	a.at[19] = b.at[19] = 4;
	a.at[21] = b.at[23] = iwt_below(f, 10);
	if (iwt_hot(f))
		iwt_mutate(f, a.at, FRAME);
	if (!qp)
		return;
	switch (iwt_below(f, 4)) {
	case 0:
		request(f, qp, fd, &a);
		break;
	case 1:
		attach(f, qp, fd, &a, NULL);
		break;
	case 2:
		attach(f, qp, fd, &a, &b);
		break;
	default:
		reject(f, qp->ctx, &a);
	}
}

/* Makes a system call on a socket, whether the socket is attached or not. */
void iwt_op_sockets(struct fuzz *f)
{
	struct obj *s = iwt_pick(f, SOCKET, -1);
	int fd = s ? (int)s->handle : -1, one = iwt_below(f, 2);
	struct linger linger = { 1, 0 };
	char octets[100] = {};

	if (!s)
		return;
	switch (iwt_below(f, 7)) {
	case 0:
		iwt_destroy(f, SOCKET, s);
		break;
	case 1:
		shutdown(fd, iwt_below(f, 3));
		break;
	case 2:
		send(fd, octets, iwt_below(f, sizeof(octets)), MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case 3:
		recv(fd, octets, sizeof(octets), MSG_DONTWAIT);
		break;
	case 4:
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		break;
	case 5:
		setsockopt(fd, IPPROTO_TCP, iwt_below(f, 40), &one, sizeof(one));
		break;
	default:
		setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 4);
	}
}
