// SPDX-License-Identifier: GPL-2.0
/* iwt_queues: completion vectors, refused attributes, and the results of queries. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "patience.h"
#include "queues.h"

#define GIDS	16	/* entries of the GID table */

/* A queue on any completion vector raises events. A vector that does not exist is refused. */
void test_vectors(struct link *l)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(l->verbs);
	int n = l->verbs->num_comp_vectors, good = 0, i;
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .comp_vector = n };
	struct pollfd pfd;

	if (!channel)
		die("ibv_create_comp_channel");
	pfd = (struct pollfd) { channel->fd, POLLIN };
	for (i = 0; i < n; i++) {
		struct ibv_cq *cq = ibv_create_cq(l->verbs, 4, NULL, channel, i);
		struct ibv_qp_init_attr_ex near = qp_attr(l->pd, cq, 4), far = qp_attr(l->pd, cq, 4);
		struct ibv_cq *raised;
		struct conn c;
		void *context;

		if (!cq)
			die("ibv_create_cq");
		conn_make(&c, &near, &far);
		ibv_req_notify_cq(cq, 0);
		if (post_recv(c.far->qp, 1, NULL) ||
		    post_send(c.near->qp, IBV_WR_SEND, 2, IBV_SEND_SIGNALED, NULL))
			die("posting");
		if (patient_poll(&pfd, 1, PATIENCE * 1000) == 1 && !ibv_get_cq_event(channel, &raised, &context)) {
			good += raised == cq;
			ibv_ack_cq_events(raised, 1);
		}
		conn_drop(&c);
		cq_drop(cq);
	}
	report(n > 0 && good == n, "each of %d completion vectors raises events", n);
	errno = 0;
	report(!ibv_create_cq(l->verbs, 4, NULL, channel, n) && errno == EINVAL,
	       "a vector above the highest is refused");
	errno = 0;
	report(!ibv_create_cq(l->verbs, 4, NULL, channel, -1) && errno == EINVAL, "a negative vector is refused");
	errno = 0;
	report(!ibv_create_cq_ex(l->verbs, &attr) && errno == EINVAL,
	       "a vector above the highest is refused for an extended queue");
	ibv_destroy_comp_channel(channel);
}

static void refused_qp(const char *what, struct ibv_qp_init_attr_ex attr, int err)
{
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp_ex(attr.send_cq->context, &attr);
	report(!qp && errno == err, "a queue pair with %s is refused", what);
	if (qp)
		ibv_destroy_qp(qp);
}

static void refuse_kinds(struct ibv_qp_init_attr_ex good)
{
	static const struct {
		const char *name;
		enum ibv_qp_type type;
	} kinds[] = {
		{ "type UC", IBV_QPT_UC }, { "type UD", IBV_QPT_UD },
		{ "type RAW_PACKET", IBV_QPT_RAW_PACKET }, { "type XRC_SEND", IBV_QPT_XRC_SEND },
		{ "type DRIVER", IBV_QPT_DRIVER },
	};
	struct ibv_qp_init_attr_ex attr;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		attr = good;
		attr.qp_type = kinds[i].type;
		refused_qp(kinds[i].name, attr, EOPNOTSUPP);
	}
}

static void refuse_masks(struct ibv_qp_init_attr_ex good)
{
	static const struct {
		const char *name;
		uint32_t mask;
	} masks[] = {
		{ "an XRC domain", IBV_QP_INIT_ATTR_XRCD }, { "TSO", IBV_QP_INIT_ATTR_MAX_TSO_HEADER },
		{ "a table of queues", IBV_QP_INIT_ATTR_IND_TABLE }, { "RSS", IBV_QP_INIT_ATTR_RX_HASH },
	};
	static const uint32_t flags[] = {
		IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, IBV_QP_CREATE_SCATTER_FCS, IBV_QP_CREATE_CVLAN_STRIPPING,
		IBV_QP_CREATE_SOURCE_QPN, IBV_QP_CREATE_PCI_WRITE_END_PADDING,
	};
	struct ibv_qp_init_attr_ex attr;
	size_t i;

	for (i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		attr = good;
		attr.comp_mask |= masks[i].mask;
		refused_qp(masks[i].name, attr, EOPNOTSUPP);
	}
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		attr = good;
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr.create_flags = flags[i];
		refused_qp("a creation flag", attr, EOPNOTSUPP);
	}
	attr = good;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	refused_qp("operations that do not exist", attr, EOPNOTSUPP);
	attr = good;
	attr.comp_mask = 0;
	refused_qp("no protection domain", attr, EINVAL);
	attr = good;
	attr.cap.max_send_sge = 17;
	refused_qp("too many elements", attr, EINVAL);
	attr = good;
	attr.cap.max_inline_data = 257;
	refused_qp("too much inline data", attr, EINVAL);
}

static void refuse_cqs(struct link *l)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	static const uint64_t fields[] = { IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO };
	size_t i;

	errno = 0;
	report(!ibv_create_cq_ex(l->verbs, &attr) && errno == EOPNOTSUPP, "a queue that ignores overruns is refused");
	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		attr = (struct ibv_cq_init_attr_ex) { .cqe = 4, .wc_flags = fields[i] };
		errno = 0;
		report(!ibv_create_cq_ex(l->verbs, &attr) && errno == EOPNOTSUPP,
		       "an unsupported field of completions is refused (%#llx)",
		       (unsigned long long)fields[i]);
	}
}

void test_refusals(struct link *l)
{
	struct ibv_cq *cq = cq_make(l->verbs, 4, NULL);
	struct ibv_qp_init_attr_ex good = qp_attr(l->pd, cq, 4);

	refuse_kinds(good);
	refuse_masks(good);
	refuse_cqs(l);
	cq_drop(cq);
}

static void query_device(struct link *l)
{
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr old;

	if (ibv_query_device_ex(l->verbs, NULL, &ex) || ibv_query_device(l->verbs, &old))
		die("ibv_query_device_ex");
	report(!memcmp(&ex.orig_attr, &old, sizeof(old)), "both queries of the device agree");
	report(old.max_sge == 16 && old.max_sge_rd == 1 && old.phys_port_cnt == 1 && old.max_pkeys == 1 &&
	       old.max_cqe == 1 << 20 && old.max_qp > 0 && old.max_qp_wr > 0 && old.max_mr > 0 && old.max_pd > 0,
	       "the device reports its limits");
	report(old.max_qp_rd_atom > 0 && old.max_qp_init_rd_atom > 0 && old.atomic_cap == IBV_ATOMIC_GLOB,
	       "the device reports Reads and atomic operations");
	report(!old.max_ah && !old.max_mcast_grp && !old.max_ee && !old.max_rdd && !old.max_raw_ipv6_qp &&
	       !old.max_raw_ethy_qp && !old.max_fmr,
	       "the device reports no features that iWARP does not have");
	report(!ex.tso_caps.max_tso && !ex.rss_caps.supported_qpts && !ex.max_wq_type_rq &&
	       !ex.packet_pacing_caps.supported_qpts && !ex.raw_packet_caps && !ex.tm_caps.max_num_tags &&
	       !ex.max_dm_size && !ex.xrc_odp_caps, "the device has no extensions for raw packets");
	report(ex.cq_mod_caps.max_cq_count == 65535 && ex.cq_mod_caps.max_cq_period == 65535,
	       "the device moderates events");
}

static void query_port(struct link *l)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid gid, none;
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	uint16_t pkey;

	report(!ibv_query_port(l->verbs, 1, &port) && port.state == IBV_PORT_ACTIVE &&
	       port.link_layer == IBV_LINK_LAYER_ETHERNET && port.gid_tbl_len == GIDS && port.pkey_tbl_len == 1 &&
	       port.max_msg_sz > 1 << 20 && port.active_speed && port.active_width && port.active_mtu &&
	       port.max_mtu >= port.active_mtu && !port.lid && !port.sm_lid,
	       "the port reports its attributes");
	report(ibv_query_port(l->verbs, 2, &port) == EINVAL && ibv_query_port(l->verbs, 0, &port) == EINVAL,
	       "there is no other port");
	memset(&none, 0, sizeof(none));
	report(!ibv_query_gid(l->verbs, 1, 0, &gid) && memcmp(&gid, &none, sizeof(gid)), "the port has a GID");
	errno = ibv_query_gid_ex(l->verbs, 1, 0, &entry, 0);
	if (errno == EOPNOTSUPP)
		skip("ibv_query_gid_ex", "this library or kernel does not have it");
	else
		report(!errno && !memcmp(&entry.gid, &gid, sizeof(gid)) && entry.port_num == 1 && !entry.gid_index,
		       "ibv_query_gid_ex reports the same GID (%s)", strerror(errno));
	report(!ibv_query_gid(l->verbs, 1, 1, &gid) && !memcmp(&gid, mapped, sizeof(mapped)),
	       "the first GID of an address is the IPv4 address");
	report(ibv_query_gid(l->verbs, 1, GIDS, &gid), "the port has no further GID");
	report(!ibv_query_pkey(l->verbs, 1, 0, &pkey) && pkey == 0xffff && ibv_query_pkey(l->verbs, 1, 1, &pkey),
	       "the port has one partition");
}

/* Queries a queue pair without a connection, and then a connected queue pair. */
static void query_qp(struct link *l)
{
	struct ibv_cq *cq = cq_make(l->verbs, 64, NULL), *cq2 = cq_make(l->verbs, 64, NULL);
	struct ibv_qp_init_attr_ex attr = qp_attr(l->pd, cq, 10), far = qp_attr(l->pd, cq2, 4);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr now;
	struct ibv_qp *qp;
	struct conn c;

	attr.recv_cq = cq2;
	attr.sq_sig_all = 1;
	attr.qp_context = &c;
	attr.cap = (struct ibv_qp_cap) { 10, 20, 3, 5, 100 };
	qp = ibv_create_qp_ex(l->verbs, &attr);
	if (!qp)
		die("ibv_create_qp_ex");
	report(attr.cap.max_send_wr >= 10 && attr.cap.max_recv_wr >= 20 && attr.cap.max_send_sge >= 3 &&
	       attr.cap.max_recv_sge >= 5 && attr.cap.max_inline_data >= 100,
	       "a queue pair has at least the requested sizes");
	memset(&init, 0xff, sizeof(init));
	report(!ibv_query_qp(qp, &now, IBV_QP_STATE | IBV_QP_CAP, &init) && now.qp_state == IBV_QPS_INIT &&
	       !memcmp(&now.cap, &attr.cap, sizeof(now.cap)) && !memcmp(&init.cap, &attr.cap, sizeof(init.cap)),
	       "the query of a queue pair reports its sizes and state");
	report(init.send_cq == cq && init.recv_cq == cq2 && !init.srq && init.qp_type == IBV_QPT_RC &&
	       init.sq_sig_all && init.qp_context == &c && qp->qp_type == IBV_QPT_RC && qp->pd == l->pd &&
	       qp->send_cq == cq && qp->recv_cq == cq2,
	       "the query of a queue pair reports its creation attributes");
	ibv_destroy_qp(qp);
	attr = qp_attr(l->pd, cq, 4);
	conn_make(&c, &attr, &far);
	report(!ibv_query_qp(c.near->qp, &now, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, &init) &&
	       now.qp_state == IBV_QPS_RTS && now.cur_qp_state == IBV_QPS_RTS && now.port_num == 1 &&
	       !now.sq_draining && !init.sq_sig_all && now.max_rd_atomic == 4 && now.max_dest_rd_atomic == 4,
	       "the query of a connected queue pair reports the connection");
	conn_drop(&c);
	cq_drop(cq);
	cq_drop(cq2);
}

void test_queries(struct link *l)
{
	query_device(l);
	query_port(l);
	query_qp(l);
}
