// SPDX-License-Identifier: GPL-2.0
/* Steps: connections by commands of rdma_cm. The process has both ends. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_user_cm.h>

#include "fuzzabi.h"

/*
 * Numbers of events from <rdma/rdma_cma.h>, which cannot be included together with
 * <rdma/rdma_user_cm.h>
 */
enum { ADDR_RESOLVED = 0, ROUTE_RESOLVED = 2, CONNECT_REQUEST = 4, ESTABLISHED = 9 };

#define PATIENCE	500	/* ms */

/* A descriptor of rdma_cm, with the rdma_cm_ids of a listener and of both ends of a connection */
struct cm {
	struct fuzz *f;
	int fd;
	uint32_t listener, active, passive;
	struct sockaddr_in at;
};

/*
 * Return: true if the command must not be given. With any driver, RDMA core of some kernels fails
 * after some commands. Therefore:
 * - The rdma_cm_id of a request is destroyed only after the process has read the event of the
 *   request. When a listener is destroyed, rdma_cm uses the rdma_cm_ids of unread requests, even
 *   if they are freed.
 * - Only a request is accepted or rejected, and only once; iwt_cmorder tests the other cases.
 *   iw_cm calls BUG() in two cases: after a second answer, if the result of the first answer was
 *   not reported yet; and after the destruction of an rdma_cm_id that was connecting and was also
 *   answered.
 */
static bool spared(enum method m, const struct rdma_ucm_cmd_hdr *hdr)
{
	switch (hdr->cmd) {
	case RDMA_USER_CM_CMD_DESTROY_ID:
		return m != C_DESTROY_ID;
	case RDMA_USER_CM_CMD_ACCEPT:
		return m != C_ACCEPT;
	case RDMA_USER_CM_CMD_REJECT:
		return m != C_REJECT;
	}
	return false;
}

/*
 * Restores the number of the rdma_cm_id in an accept or reject, if a mutation has changed the
 * number.
 */
static void keep_id(enum method m, uint8_t *core, const void *good)
{
	size_t at;

	if (m == C_ACCEPT)
		at = offsetof(struct rdma_ucm_accept, id);
	else if (m == C_REJECT)
		at = offsetof(struct rdma_ucm_reject, id);
	else
		return;
	memcpy(core + at, (const uint8_t *)good + at, sizeof(uint32_t));
}

static int cm_command(struct fuzz *f, int fd, enum method m, uint32_t number,
		      const void *core, size_t len, size_t answer)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t core[600];
	} r = { .hdr = { number, len, answer } };
	size_t n = sizeof(r.hdr) + len;
	int err;

	memcpy(r.core, core, len);
	memset(f->out, 0, 512);
	if (iwt_hot(f) && m != C_DESTROY_ID)
		iwt_mutate(f, r.core, len);
	keep_id(m, r.core, core);
	if (f->hot && iwt_chance(f, 2))
		iwt_mutate(f, &r.hdr, sizeof(r.hdr));
	if (f->hot && iwt_chance(f, 2))
		n = iwt_below(f, sizeof(r));
	if (spared(m, &r.hdr))
		return EINVAL;
	err = write(fd, &r, n) < 0 ? errno : 0;
	iwt_count(m, err);
	return err;
}

static uint32_t create_id(struct cm *c)
{
	struct rdma_ucm_create_id k = {
		.uid = 7, .response = (uintptr_t)c->f->out, .ps = RDMA_PS_TCP,
		.qp_type = 2,
	};
	uint32_t id;

	if (cm_command(c->f, c->fd, C_CREATE_ID, RDMA_USER_CM_CMD_CREATE_ID, &k, sizeof(k),
		       sizeof(struct rdma_ucm_create_id_resp)))
		return UINT32_MAX;
	memcpy(&id, c->f->out, sizeof(id));
	return id;
}

static void destroy_id(struct cm *c, uint32_t id)
{
	struct rdma_ucm_destroy_id k = { .response = (uintptr_t)c->f->out, .id = id };

	if (id != UINT32_MAX)
		cm_command(c->f, c->fd, C_DESTROY_ID, RDMA_USER_CM_CMD_DESTROY_ID, &k, sizeof(k),
			   sizeof(struct rdma_ucm_destroy_id_resp));
}

/* Waits for one event. Return: false if no event arrives in time. */
static bool event(struct cm *c, struct rdma_ucm_event_resp *e)
{
	struct rdma_ucm_get_event k = { .response = (uintptr_t)c->f->out };
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	if (poll(&p, 1, PATIENCE) != 1 ||
	    cm_command(c->f, c->fd, C_GET_EVENT, RDMA_USER_CM_CMD_GET_EVENT, &k, sizeof(k),
		       sizeof(*e)))
		return false;
	memcpy(e, c->f->out, sizeof(*e));
	return true;
}

static bool got(struct cm *c, uint32_t which)
{
	struct rdma_ucm_event_resp e;

	return event(c, &e) && e.event == which;
}

static bool start_listener(struct cm *c)
{
	struct rdma_ucm_bind bind = { .addr_size = sizeof(c->at) };
	struct rdma_ucm_query query = {
		.response = (uintptr_t)c->f->out, .option = RDMA_USER_CM_QUERY_ADDR,
	};
	struct rdma_ucm_listen listen = { .backlog = 4 };
	struct rdma_ucm_query_addr_resp answer;
	struct fuzz *f = c->f;

	c->listener = create_id(c);
	bind.id = query.id = listen.id = c->listener;
	memcpy(&bind.addr, &c->at, sizeof(c->at));
	if (cm_command(f, c->fd, C_BIND, RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0) ||
	    cm_command(f, c->fd, C_LISTEN, RDMA_USER_CM_CMD_LISTEN, &listen, sizeof(listen), 0) ||
	    cm_command(f, c->fd, C_QUERY, RDMA_USER_CM_CMD_QUERY, &query, sizeof(query),
		       sizeof(answer)))
		return false;
	memcpy(&answer, f->out, sizeof(answer));
	memcpy(&c->at, &answer.src_addr, sizeof(c->at));
	return true;
}

static bool resolve(struct cm *c)
{
	struct rdma_ucm_resolve_addr addr = { .timeout_ms = 2000, .dst_size = sizeof(c->at) };
	struct rdma_ucm_resolve_route route = { .timeout_ms = 2000 };

	c->active = create_id(c);
	addr.id = route.id = c->active;
	memcpy(&addr.dst_addr, &c->at, sizeof(c->at));
	return !cm_command(c->f, c->fd, C_RESOLVE_ADDR, RDMA_USER_CM_CMD_RESOLVE_ADDR, &addr,
			   sizeof(addr), 0) && got(c, ADDR_RESOLVED) &&
	       !cm_command(c->f, c->fd, C_RESOLVE_ROUTE, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &route,
			   sizeof(route), 0) && got(c, ROUTE_RESOLVED);
}

static struct rdma_ucm_conn_param some_param(struct fuzz *f, const struct obj *qp)
{
	return (struct rdma_ucm_conn_param) {
		.qp_num = qp->num, .valid = 1, .responder_resources = iwt_below(f, 8),
		.initiator_depth = iwt_below(f, 8), .private_data_len = iwt_below(f, 60),
	};
}

static bool connect_it(struct cm *c, const struct obj *qp)
{
	struct rdma_ucm_connect k = {
		.conn_param = some_param(c->f, qp), .id = c->active,
	};
	struct rdma_ucm_event_resp e;

	if (cm_command(c->f, c->fd, C_CONNECT, RDMA_USER_CM_CMD_CONNECT, &k, sizeof(k), 0) ||
	    !event(c, &e) || e.event != CONNECT_REQUEST)
		return false;
	c->passive = e.id;
	return true;
}

static void answer_it(struct cm *c, const struct obj *qp)
{
	struct rdma_ucm_accept k = {
		.uid = 8, .conn_param = some_param(c->f, qp), .id = c->passive,
	};
	struct rdma_ucm_reject no = { .id = c->passive, .private_data_len = 8 };
	struct fuzz *f = c->f;

	if (iwt_chance(f, 20)) {
		cm_command(f, c->fd, C_REJECT, RDMA_USER_CM_CMD_REJECT, &no, sizeof(no), 0);
		return;
	}
	if (cm_command(f, c->fd, C_ACCEPT, RDMA_USER_CM_CMD_ACCEPT, &k, sizeof(k), 0))
		return;
	if (got(c, ESTABLISHED) && got(c, ESTABLISHED))
		iwt_count(C_ESTABLISHED, 0);
}

/* Keeps the connection, or ends the connection by commands or by closing the descriptor. */
static void leave(struct cm *c)
{
	struct rdma_ucm_disconnect k = { .id = c->active };
	struct fuzz *f = c->f;

	if (iwt_chance(f, 40)) {
		iwt_new(f, CM_ID, 0, c->fd)->num = c->active;
		return;
	}
	if (iwt_chance(f, 40))
		cm_command(f, c->fd, C_DISCONNECT, RDMA_USER_CM_CMD_DISCONNECT, &k, sizeof(k), 0);
	if (iwt_chance(f, 50)) {
		destroy_id(c, c->active);
		destroy_id(c, c->passive);
		destroy_id(c, c->listener);
	}
	close(c->fd);
}

void iwt_op_cm(struct fuzz *f)
{
	struct obj *from = iwt_pick(f, QP, -1), *to = iwt_pick(f, QP, -1);
	struct cm c = {
		.f = f, .at = f->w->address,
		.listener = UINT32_MAX, .active = UINT32_MAX, .passive = UINT32_MAX,
	};

	c.at.sin_port = 0;
	c.fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (c.fd < 0)
		return;
	if (from && to && start_listener(&c) && resolve(&c) && connect_it(&c, from))
		answer_it(&c, to);
	leave(&c);
}

/* Gives any command for an rdma_cm_id that exists or existed. */
void iwt_op_any_cm(struct fuzz *f)
{
	struct obj *o = iwt_pick(f, CM_ID, -1);
	uint32_t words[100], i;

	if (!o)
		return;
	for (i = 0; i < 100; i++)
		words[i] = iwt_chance(f, 70) ? 0 : iwt_value(f);
	i = iwt_below(f, 6);
	if (i)
		words[i - 1] = o->num + iwt_below(f, 3);
	/* the kernel must write answers only to f->out */
	if (i != 1 && i != 2)
		memcpy(words, &f->out, sizeof(f->out));
	cm_command(f, o->handle, C_ANY, iwt_below(f, 24), words, 8 * iwt_below(f, 48),
		   iwt_below(f, 512));
	if (iwt_chance(f, 20))
		iwt_destroy(f, CM_ID, o);
}
