// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of iwt_cmorder. The program avoids two sequences of commands after which rdma_cm
 * uses freed memory, with the driver of any device: the program does not destroy the rdma_cm_id
 * of a request before it has read the event of the request, and does not migrate a listener to
 * another descriptor.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_user_cm.h>

#include "cmorder.h"

/*
 * Numbers of events from <rdma/rdma_cma.h>, which cannot be included together with
 * <rdma/rdma_user_cm.h>
 */
enum { ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, ROUTE_ERROR, CONNECT_REQUEST,
	CONNECT_ERROR = 6, UNREACHABLE, REJECTED, ESTABLISHED, DISCONNECTED };

void count(struct worker *w, enum count what)
{
	__atomic_add_fetch(&w->all->counts[what], 1, __ATOMIC_RELAXED);
}

static int command(int fd, uint32_t number, const void *core, size_t len, size_t answer)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t core[1024];
	} r = { .hdr = { number, len, answer } };

	memcpy(r.core, core, len);
	return write(fd, &r, sizeof(r.hdr) + len) < 0 ? errno : 0;
}

static int of_slot(struct worker *w, const struct slot *s, uint32_t number, const void *core,
		   size_t len, size_t answer)
{
	return command(w->fd[s->file], number, core, len, answer);
}

bool has_listener(const struct worker *w)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (w->slots[i].kind == BOUND || w->slots[i].kind == LISTENING)
			return true;
	return false;
}

static struct slot *slot_of(struct worker *w, uint32_t id)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (w->slots[i].kind != FREE && w->slots[i].id == id)
			return &w->slots[i];
	return NULL;
}

static struct slot *free_slot(struct worker *w)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (w->slots[i].kind == FREE)
			return &w->slots[i];
	return NULL;
}

static void set_kind(struct slot *s, enum kind kind)
{
	__atomic_store_n(&s->kind, kind, __ATOMIC_RELEASE);
}

static void destroy_id(struct worker *w, int file, uint32_t id)
{
	uint8_t out[64];
	struct rdma_ucm_destroy_id k = { .response = (uintptr_t)out, .id = id };

	command(w->fd[file], RDMA_USER_CM_CMD_DESTROY_ID, &k, sizeof(k), sizeof(out));
}

static void new_request(struct worker *w, uint32_t id, int file)
{
	struct slot *s = free_slot(w);

	if (!s) {
		count(w, N_LEFT_REQUEST);
		destroy_id(w, file, id);
		return;
	}
	s->id = id;
	s->file = file;
	set_kind(s, REQUEST);
}

static void take_event(struct worker *w, int file, const struct rdma_ucm_event_resp *e)
{
	static const uint8_t kinds[] = {
		[ADDR_RESOLVED] = RESOLVED, [ADDR_ERROR] = OVER, [ROUTE_RESOLVED] = ROUTED,
		[ROUTE_ERROR] = OVER, [CONNECT_ERROR] = OVER, [UNREACHABLE] = OVER,
		[REJECTED] = OVER, [ESTABLISHED] = CONNECTED, [DISCONNECTED] = OVER,
	};
	struct slot *s;

	if (e->event == CONNECT_REQUEST) {
		new_request(w, e->id, file);
		return;
	}
	s = slot_of(w, e->id);
	if (!s || e->event >= sizeof(kinds))
		return;
	if (e->event == ESTABLISHED)
		count(w, N_ESTABLISHED);
	else if (e->event == REJECTED || e->event == CONNECT_ERROR || e->event == UNREACHABLE)
		count(w, N_FAILED_CONNECT);
	set_kind(s, kinds[e->event]);
}

void read_events(struct worker *w)
{
	struct rdma_ucm_get_event k = { .response = (uintptr_t)w->out };
	struct rdma_ucm_event_resp e;
	int file;

	for (file = 0; file < 2; file++) {
		while (!command(w->fd[file], RDMA_USER_CM_CMD_GET_EVENT, &k, sizeof(k), sizeof(e))) {
			memcpy(&e, w->out, sizeof(e));
			take_event(w, file, &e);
		}
	}
}

void create_id(struct worker *w)
{
	struct rdma_ucm_create_id k = {
		.uid = 1, .response = (uintptr_t)w->out, .ps = RDMA_PS_TCP, .qp_type = 2,
	};
	struct slot *s = free_slot(w);
	int file = draw(&w->seed, 2);

	if (!s || command(w->fd[file], RDMA_USER_CM_CMD_CREATE_ID, &k, sizeof(k),
			  sizeof(struct rdma_ucm_create_id_resp)))
		return;
	memcpy(&s->id, w->out, sizeof(s->id));
	s->file = file;
	set_kind(s, NEW);
}

static struct sockaddr_in address(const struct worker *w, uint16_t port)
{
	return (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_addr = w->all->address, .sin_port = port,
	};
}

int bind_it(struct worker *w, struct slot *s)
{
	struct rdma_ucm_query query = {
		.response = (uintptr_t)w->out, .id = s->id, .option = RDMA_USER_CM_QUERY_ADDR,
	};
	struct rdma_ucm_bind k = { .id = s->id, .addr_size = sizeof(struct sockaddr_in) };
	struct sockaddr_in a = address(w, 0);
	struct rdma_ucm_query_addr_resp answer;
	int err;

	memcpy(&k.addr, &a, sizeof(a));
	err = of_slot(w, s, RDMA_USER_CM_CMD_BIND, &k, sizeof(k), 0);
	if (err || of_slot(w, s, RDMA_USER_CM_CMD_QUERY, &query, sizeof(query), sizeof(answer)))
		return err;
	memcpy(&answer, w->out, sizeof(answer));
	memcpy(&a, &answer.src_addr, sizeof(a));
	w->all->listening[w->number] = a.sin_port;
	if (s->kind == NEW)
		set_kind(s, BOUND);
	return 0;
}

int listen_it(struct worker *w, struct slot *s)
{
	struct rdma_ucm_listen k = { .id = s->id, .backlog = 4 };
	int err = of_slot(w, s, RDMA_USER_CM_CMD_LISTEN, &k, sizeof(k), 0);

	if (!err)
		set_kind(s, LISTENING);
	return err;
}

/*
 * Returns the port of a worker's listener, the port of the silent TCP socket, or an unused port.
 */
static uint16_t some_port(struct worker *w)
{
	uint32_t which = draw(&w->seed, 10);

	if (which == 0)
		return htons(9);
	if (which < 3)
		return w->all->silent;
	return w->all->listening[draw(&w->seed, WORKERS)] ?: w->all->silent;
}

int resolve_it(struct worker *w, struct slot *s)
{
	struct rdma_ucm_resolve_addr k = {
		.id = s->id, .timeout_ms = 2000, .dst_size = sizeof(struct sockaddr_in),
	};
	struct sockaddr_in a = address(w, some_port(w));
	int err;

	memcpy(&k.dst_addr, &a, sizeof(a));
	err = of_slot(w, s, RDMA_USER_CM_CMD_RESOLVE_ADDR, &k, sizeof(k), 0);
	if (!err)
		set_kind(s, RESOLVING);
	return err;
}

int route_it(struct worker *w, struct slot *s)
{
	struct rdma_ucm_resolve_route k = { .id = s->id, .timeout_ms = 2000 };
	int err = of_slot(w, s, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &k, sizeof(k), 0);

	if (!err)
		set_kind(s, ROUTING);
	return err;
}

/*
 * Returns the number of the queue pair of @s, which this function creates if necessary. Sometimes
 * returns a random number instead, or if @other is set, the number of another slot's queue pair.
 */
static uint32_t some_qp(struct worker *w, struct slot *s, bool other)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = w->cq, .recv_cq = w->cq, .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 },
	};
	uint32_t which = draw(&w->seed, 20);

	if (which == 0)
		return draw(&w->seed, 1 << 20);
	if (which == 1 && other)
		s = &w->slots[draw(&w->seed, SLOTS)];
	else if (!s->qp)
		s->qp = ibv_create_qp(w->pd, &attr);
	return s->qp ? s->qp->qp_num : 0;
}

static struct rdma_ucm_conn_param some_param(struct worker *w, uint32_t qpn)
{
	return (struct rdma_ucm_conn_param) {
		.qp_num = qpn, .valid = 1, .responder_resources = draw(&w->seed, 4),
		.initiator_depth = draw(&w->seed, 4),
		.private_data_len = w->all->private_data ? draw(&w->seed, 60) : 0,
	};
}

int connect_it(struct worker *w, struct slot *s)
{
	struct rdma_ucm_connect k = { .conn_param = some_param(w, some_qp(w, s, false)), .id = s->id };
	int err = of_slot(w, s, RDMA_USER_CM_CMD_CONNECT, &k, sizeof(k), 0);

	if (!err)
		set_kind(s, CONNECTING);
	return err;
}

/*
 * Counts accepts and rejects of an rdma_cm_id that has no request to answer. These commands must
 * fail.
 * @was: state before the command; @err: errno of the command, or 0.
 */
static void judge(struct worker *w, enum kind was, int err)
{
	if (was == CONNECTING) {
		count(w, N_ANSWERED_CONNECTING);
		if (!err)
			count(w, N_TAKEN_CONNECTING);
	} else if (was == ACCEPTED) {
		count(w, N_ANSWERED_AGAIN);
		if (!err)
			count(w, N_TAKEN_TWICE);
	}
}

static int accept_by(struct worker *w, struct slot *s, uint32_t qpn)
{
	struct rdma_ucm_accept k = {
		.uid = 1, .conn_param = some_param(w, qpn), .id = s->id,
	};

	return of_slot(w, s, RDMA_USER_CM_CMD_ACCEPT, &k, sizeof(k), 0);
}

int accept_it(struct worker *w, struct slot *s)
{
	enum kind was = s->kind;
	int err = accept_by(w, s, some_qp(w, s, true));

	judge(w, was, err);
	if (was == REQUEST)
		set_kind(s, err ? OVER : ACCEPTED);
	return err;
}

int reject_it(struct worker *w, struct slot *s)
{
	struct rdma_ucm_reject k = { .id = s->id };
	enum kind was = s->kind;
	int err = of_slot(w, s, RDMA_USER_CM_CMD_REJECT, &k, sizeof(k), 0);

	judge(w, was, err);
	if (was == REQUEST) {
		count(w, N_REJECTED);
		set_kind(s, OVER);
	}
	return err;
}

/*
 * Thread that destroys a queue pair after 3 ms. The destruction ends a pending connect. Without
 * the destruction, a command that waits for the end of the connect would wait until the peer
 * answers.
 */
static void *end_qp(void *arg)
{
	usleep(3000);
	ibv_destroy_qp(arg);
	return NULL;
}

/*
 * Calls @leave, which destroys or disconnects @s. Meanwhile another thread destroys the queue
 * pair of the slot.
 */
static void leave_by(struct worker *w, struct slot *s,
		     void (*leave)(struct worker *, struct slot *))
{
	struct ibv_qp *qp = s->qp;
	pthread_t thread;

	if (s->kind == CONNECTING)
		count(w, N_LEFT_CONNECTING);
	else if (s->kind == REQUEST)
		count(w, N_LEFT_REQUEST);
	s->qp = NULL;
	if (qp && pthread_create(&thread, NULL, end_qp, qp))
		abort();
	leave(w, s);
	if (qp)
		pthread_join(thread, NULL);
}

static void disconnect(struct worker *w, struct slot *s)
{
	struct rdma_ucm_disconnect k = { .id = s->id };

	of_slot(w, s, RDMA_USER_CM_CMD_DISCONNECT, &k, sizeof(k), 0);
}

int disconnect_it(struct worker *w, struct slot *s)
{
	if (s->kind == CONNECTING)
		leave_by(w, s, disconnect);
	else
		disconnect(w, s);
	return 0;
}

static void destroy(struct worker *w, struct slot *s)
{
	destroy_id(w, s->file, s->id);
}

int destroy_it(struct worker *w, struct slot *s)
{
	if (s->kind == BOUND || s->kind == LISTENING)
		w->all->listening[w->number] = 0;
	leave_by(w, s, destroy);
	set_kind(s, FREE);
	return 0;
}

int migrate_it(struct worker *w, struct slot *s)
{
	struct rdma_ucm_migrate_id k = {
		.response = (uintptr_t)w->out, .id = s->id, .fd = w->fd[s->file],
	};
	int err;

	if (s->kind == BOUND || s->kind == LISTENING)
		return EBUSY;
	err = command(w->fd[!s->file], RDMA_USER_CM_CMD_MIGRATE_ID, &k, sizeof(k),
		      sizeof(struct rdma_ucm_migrate_resp));
	if (!err) {
		s->file = !s->file;
		count(w, N_MIGRATED);
	}
	return err;
}

int attributes_of(struct worker *w, struct slot *s)
{
	struct rdma_ucm_init_qp_attr k = {
		.response = (uintptr_t)w->out, .id = s->id, .qp_state = 1 + draw(&w->seed, 3),
	};

	return of_slot(w, s, RDMA_USER_CM_CMD_INIT_QP_ATTR, &k, sizeof(k),
		       sizeof(struct ib_uverbs_qp_attr));
}

/*
 * The rival thread. It copies a slot without a lock. When the rival gives its command, the
 * rdma_cm_id may be destroyed, and its number may belong to another rdma_cm_id.
 */
void *rival(void *arg)
{
	struct worker *w = arg;
	uint64_t seed = ~w->seed;
	struct slot s;

	for (;;) {
		s = w->slots[draw(&seed, SLOTS)];
		switch (s.kind == FREE || s.kind == REQUEST ? 0 : draw(&seed, 4)) {
		case 1:
			accept_by(w, &s, draw(&seed, 64));
			break;
		case 2: {
			struct rdma_ucm_reject k = { .id = s.id };

			of_slot(w, &s, RDMA_USER_CM_CMD_REJECT, &k, sizeof(k), 0);
			break;
		}
		case 3:
			if (s.kind != CONNECTING)
				disconnect(w, &s);
			break;
		}
		usleep(draw(&seed, 500));
	}
	return NULL;
}
