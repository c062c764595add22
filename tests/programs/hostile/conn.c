// SPDX-License-Identifier: GPL-2.0
/* Connections of a hostile process, and the addresses of their rings. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "hostile.h"
#include "patience.h"

#define MAPPINGS	2000
static struct ring known[MAPPINGS];

/*
 * Stores at most @max shared mappings of the device in @r, except the mappings in @old. Return:
 * the number of stored mappings.
 */
static int mappings(struct ring *r, int max, const struct ring *old, int n_old)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to, off;
	char line[400], perm[8];
	int n = 0, i;

	if (!f)
		iwt_fail("/proc/self/maps");
	while (n < max && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/uverbs") ||
		    sscanf(line, "%lx-%lx %7s %lx", &from, &to, perm, &off) != 4)
			continue;
		for (i = 0; i < n_old && old[i].at != (void *)from; i++)
			;
		if (i < n_old)
			continue;
		r[n++] = (struct ring) { (uint8_t *)from, to - from, off, 0, 0 };
	}
	fclose(f);
	return n;
}

static struct rdma_cm_event *next_event(struct conn *c)
{
	struct pollfd p = { .fd = c->ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	if (patient_poll(&p, 1, PATIENCE * 1000) != 1 || rdma_get_cm_event(c->ch, &ev))
		return NULL;
	return ev;
}

void iwt_make_objects(struct conn *c, bool look)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = WRS,
			.max_recv_wr = WRS * 4,
			.max_send_sge = 4,
			.max_recv_sge = 1,
			.max_inline_data = 64,
		},
	};
	struct ring r[4] = {};
	int n, n_known = look ? mappings(known, MAPPINGS, NULL, 0) : 0;

	c->pd = ibv_alloc_pd(c->id->verbs);
	c->events = ibv_create_comp_channel(c->id->verbs);
	c->cq = ibv_create_cq(c->id->verbs, WRS * 8, NULL, c->events, 0);
	if (!c->pd || !c->cq)
		iwt_fail("no pd or cq: %s", strerror(errno));
	if (look) {
		if (mappings(&c->scq, 1, known, n_known) != 1)
			iwt_fail("no mapping of the completion queue");
		n_known = mappings(known, MAPPINGS, NULL, 0);
	}
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (rdma_create_qp(c->id, c->pd, &attr))
		iwt_fail("rdma_create_qp: %s", strerror(errno));
	c->qp = c->id->qp;
	c->buf = calloc(1, BUF);
	c->mr = ibv_reg_mr(c->pd, c->buf, BUF, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC);
	if (!c->mr)
		iwt_fail("ibv_reg_mr: %s", strerror(errno));
	if (!look)
		return;
	n = mappings(r, 4, known, n_known);
	if (n != 2)
		iwt_fail("%d mappings of a queue pair", n);
	c->sq = r[0].off < r[1].off ? r[0] : r[1];
	c->rq = r[0].off < r[1].off ? r[1] : r[0];
}

int iwt_post_recv(struct conn *c, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)c->buf, 256, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(c->qp, &wr, &bad);
}

int iwt_post(struct conn *c, uint64_t id, int op, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)c->buf + off, len, c->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = id,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = !!len,
		.wr.rdma = { c->peer.addr + off, c->peer.rkey },
	};

	return ibv_post_send(c->qp, &wr, &bad);
}

bool iwt_wait_wc(struct conn *c, struct ibv_wc *wc)
{
	struct patience p = {};

	while (patient(&p, PATIENCE, 0)) {
		int n = ibv_poll_cq(c->cq, 1, wc);

		if (n == 1)
			return true;
		if (n < 0)
			return false;
		usleep(100);
	}
	return false;
}

/* Measures the stride of a ring: the distance between two known work requests. */
static void measure(struct ring *r)
{
	uint64_t v[2] = { MAGIC + 1, MAGIC + 2 };
	size_t at, found[2] = {};

	for (at = IWT_RING_CTL_SIZE; at + 8 <= r->len; at += 8)
		if (!memcmp(r->at + at, &v[0], 8))
			found[0] = at;
		else if (!memcmp(r->at + at, &v[1], 8))
			found[1] = at;
	if (!found[0] || found[1] <= found[0])
		iwt_fail("work requests are not in the ring");
	r->first = IWT_RING_CTL_SIZE;
	r->stride = found[1] - found[0];
}

void iwt_resolve(struct conn *c)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *ai;
	struct rdma_cm_event *ev;

	c->ch = rdma_create_event_channel();
	if (!c->ch || rdma_create_id(c->ch, &c->id, NULL, RDMA_PS_TCP) ||
	    rdma_getaddrinfo(iwt_address, PORT, &hints, &ai))
		iwt_fail("no identifier or address");
	if (rdma_resolve_addr(c->id, NULL, ai->ai_dst_addr, 30000))
		iwt_fail("rdma_resolve_addr");
	ev = next_event(c);
	if (!ev || ev->event != RDMA_CM_EVENT_ADDR_RESOLVED)
		iwt_fail("address is not resolved");
	rdma_ack_cm_event(ev);
	if (rdma_resolve_route(c->id, 30000))
		iwt_fail("rdma_resolve_route");
	ev = next_event(c);
	if (!ev || ev->event != RDMA_CM_EVENT_ROUTE_RESOLVED)
		iwt_fail("no route");
	rdma_ack_cm_event(ev);
	rdma_freeaddrinfo(ai);
}

/* Begins to connect. Return: 0 if an event will report the result, or an errno value. */
int iwt_connect(struct conn *c)
{
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4 };

	return rdma_connect(c->id, &param) ? errno : 0;
}

/*
 * Connects to the tame peer (peer.c). The caller has called iwt_resolve() and iwt_make_objects()
 * before.
 */
void iwt_establish(struct conn *c)
{
	struct rdma_cm_event *ev;

	if (iwt_connect(c))
		iwt_fail("rdma_connect: %s", strerror(errno));
	ev = next_event(c);
	if (!ev || ev->event != RDMA_CM_EVENT_ESTABLISHED ||
	    ev->param.conn.private_data_len < sizeof(c->peer))
		iwt_fail("not connected");
	memcpy(&c->peer, ev->param.conn.private_data, sizeof(c->peer));
	rdma_ack_cm_event(ev);
}

/*
 * Makes a connection to the tame peer (peer.c). If @look is set, also finds the rings of the
 * connection.
 */
struct conn *iwt_dial(bool look)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct ibv_wc wc;
	int i;

	iwt_resolve(c);
	iwt_make_objects(c, look);
	if (iwt_post_recv(c, MAGIC + 1) || iwt_post_recv(c, MAGIC + 2))
		iwt_fail("ibv_post_recv");
	iwt_establish(c);
	if (!look)
		return c;
	measure(&c->rq);
	for (i = 1; i <= 2; i++)
		if (iwt_post(c, MAGIC + i, IBV_WR_RDMA_WRITE, 0, 8) ||
		    !iwt_wait_wc(c, &wc) || wc.status)
			iwt_fail("the first two Writes fail");
	measure(&c->sq);
	return c;
}

/*
 * Posts work requests by the command POST_SEND of uverbs, which is meant for devices whose queues
 * a process cannot map. Return: 0 or an errno value.
 */
int iwt_post_command(struct conn *c, uint32_t n, uint32_t sges, uint32_t wqe_size)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
		struct ib_uverbs_send_wr wr[2];
		struct ib_uverbs_sge sge[2];
		uint8_t rest[256];
	} __attribute__((packed)) req = {};
	struct ib_uverbs_post_send_resp resp;
	size_t len = sizeof(req.hdr) + sizeof(req.cmd) +
		     (n ? sizeof(req.wr) + sizeof(req.sge) : 0);

	req.hdr.command = IB_USER_VERBS_CMD_POST_SEND;
	req.hdr.in_words = len / 4;
	req.hdr.out_words = sizeof(resp) / 4;
	req.cmd.response = (uintptr_t)&resp;
	req.cmd.qp_handle = c->qp->handle;
	req.cmd.wr_count = n;
	req.cmd.sge_count = sges;
	req.cmd.wqe_size = wqe_size;
	req.wr[0].num_sge = sges;
	req.wr[0].opcode = IB_UVERBS_WR_SEND;
	req.sge[0].lkey = c->mr->lkey;
	req.sge[0].addr = (uintptr_t)c->buf;
	req.sge[0].length = 16;
	return write(c->id->verbs->cmd_fd, &req, len) < 0 ? errno : 0;
}

/*
 * Calls a method of the driver for the object @handle. @n: number of words (0 to 3) that the
 * flags attribute contains. Return: 0 or an errno value.
 */
int iwt_method(struct conn *c, uint16_t object, uint16_t method, uint32_t handle,
	       int n, uint32_t flags)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[2];
	} req = {
		.hdr = {
			.length = sizeof(req.hdr) + (1 + !!n) * sizeof(req.attrs[0]),
			.object_id = object,
			.method_id = method,
			.num_attrs = 1 + !!n,
			.driver_id = RDMA_DRIVER_IW_TCP,
		},
		.attrs[0] = {
			.attr_id = IWT_ATTR_CQ,
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = handle,
		},
		.attrs[1] = {
			.attr_id = IWT_ATTR_CQ_ARM_FLAGS,
			.len = n * sizeof(flags),
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = flags,
		},
	};

	return ioctl(c->id->verbs->cmd_fd, RDMA_VERBS_IOCTL, &req) ? errno : 0;
}

void iwt_doorbell(struct conn *c)
{
	iwt_method(c, UVERBS_OBJECT_QP, IWT_METHOD_QP_DOORBELL, c->qp->handle, 0, 0);
}

struct iwt_ring_ctl *iwt_ctl(const struct ring *r)
{
	return (struct iwt_ring_ctl *)r->at;
}

void *iwt_slot(const struct ring *r, uint32_t idx, uint32_t entries)
{
	return r->at + r->first + (size_t)(idx % entries) * r->stride;
}

/* Writes a send work request with @n elements into the ring, and rings the doorbell. */
void iwt_raw(struct conn *c, const struct iwt_send_wqe *w,
		const struct iwt_sge *sge, int n)
{
	uint32_t prod = iwt_ctl(&c->sq)->prod;
	uint8_t *to = iwt_slot(&c->sq, prod, WRS);

	memcpy(to, w, sizeof(*w));
	memcpy(to + sizeof(*w), sge, n * sizeof(*sge));
	__atomic_store_n(&iwt_ctl(&c->sq)->prod, prod + 1, __ATOMIC_SEQ_CST);
	iwt_doorbell(c);
}
