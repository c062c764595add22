// SPDX-License-Identifier: GPL-2.0
/*
 * Steps: queue pairs connect without rdma_cm, to a queue pair of the same link or of another
 * link.
 */
#include <arpa/inet.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "fuzzabi.h"

#define NUMBERS	(1u << 24)	/* of queue pair numbers and PSNs */

/* What one end must know: the number of the peer's queue pair, and the PSNs of both ends */
struct know {
	uint32_t peer, psn, peer_psn;
};

/* Returns in @gid the GID of an IPv4 address: the address of the link plus @more. */
static void gid_of(const struct fuzz *f, uint32_t more, uint8_t *gid)
{
	uint32_t address = htonl(ntohl(f->w->address.sin_addr.s_addr) + more);

	memset(gid, 0, 16);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &address, sizeof(address));
}

static bool to_state(struct fuzz *f, const struct obj *qp, uint32_t state)
{
	struct ib_uverbs_ex_modify_qp core = { .base = {
		.attr_mask = IBV_QP_STATE, .qp_state = state, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	} };

	if (state == IBV_QPS_INIT)
		core.base.attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	return iwt_modify_qp(f, qp, &core);
}

static struct ib_uverbs_ex_modify_qp rtr_of(struct fuzz *f, const struct know *k)
{
	struct ib_uverbs_ex_modify_qp core = { .base = {
		.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		.qp_state = IBV_QPS_RTR, .port_num = 1, .path_mtu = 1 + iwt_below(f, 5),
		.dest_qp_num = k->peer, .rq_psn = k->peer_psn,
		.max_dest_rd_atomic = iwt_below(f, 5), .min_rnr_timer = iwt_below(f, 32),
		.dest = { .sgid_index = 1, .is_global = 1, .port_num = 1, .hop_limit = 64,
			  .traffic_class = iwt_chance(f, 80) ? 0 : iwt_below(f, 256) },
	} };

	gid_of(f, 0, core.base.dest.dgid);
	return core;
}

static struct ib_uverbs_ex_modify_qp rts_of(struct fuzz *f, const struct know *k)
{
	return (struct ib_uverbs_ex_modify_qp) { .base = {
		.attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
		.qp_state = IBV_QPS_RTS, .sq_psn = k->psn, .max_rd_atomic = 1 + iwt_below(f, 4),
		.timeout = iwt_below(f, 20), .retry_cnt = iwt_below(f, 8),
		.rnr_retry = iwt_below(f, 8),
	} };
}

/* Changes one attribute of the address to a value that is probably wrong. */
static void spoil_rtr(struct fuzz *f, struct ib_uverbs_modify_qp *m)
{
	struct ib_uverbs_qp_dest *d = &m->dest;
	uint32_t i;

	switch (iwt_below(f, 10)) {
	case 0:
		d->sgid_index = iwt_chance(f, 70) ? iwt_below(f, 20) : iwt_below(f, 256);
		break;
	case 1:		/* another link, whose queue pairs do not wait */
		gid_of(f, 1 + iwt_below(f, 3), d->dgid);
		break;
	case 2:
		for (i = 0; i < 16; i++)
			d->dgid[i] = iwt_below(f, 256);
		break;
	case 3:		/* no address, or an address to which TCP can't connect */
		memset(d->dgid, 0, 16);
		d->dgid[0] = iwt_chance(f, 50) ? 0xff : 0;
		break;
	case 4:		/* a link-local address */
		memset(d->dgid, 0, 16);
		d->dgid[0] = 0xfe;
		d->dgid[1] = 0x80;
		d->dgid[15] = iwt_below(f, 256);
		break;
	case 5:
		d->is_global = 0;
		break;
	case 6:
		m->dest_qp_num = iwt_chance(f, 70) ? iwt_below(f, 300) : (uint32_t)iwt_rnd(f);
		break;
	case 7:
		m->rq_psn = iwt_rnd(f);
		break;
	case 8:
		m->min_rnr_timer = iwt_below(f, 256);
		m->max_dest_rd_atomic = iwt_below(f, 256);
		break;
	default:
		m->attr_mask &= ~(1u << iwt_below(f, 21)) | IBV_QP_STATE;
	}
}

static void spoil_rts(struct fuzz *f, struct ib_uverbs_modify_qp *m)
{
	switch (iwt_below(f, 5)) {
	case 0:
		m->sq_psn = iwt_rnd(f);
		break;
	case 1:
		m->timeout = iwt_below(f, 256);
		m->retry_cnt = iwt_below(f, 256);
		break;
	case 2:
		m->rnr_retry = iwt_below(f, 256);
		break;
	case 3:
		m->max_rd_atomic = iwt_below(f, 256);
		break;
	default:
		m->attr_mask &= ~(1u << iwt_below(f, 21)) | IBV_QP_STATE;
	}
}

/* Connects an end; each attribute may be wrong with the probability @wrong percent. */
static bool connect_end(struct fuzz *f, const struct obj *qp, const struct know *k, int wrong)
{
	struct ib_uverbs_ex_modify_qp rtr = rtr_of(f, k), rts = rts_of(f, k);

	if (iwt_chance(f, wrong))
		spoil_rtr(f, &rtr.base);
	if (iwt_chance(f, wrong))
		spoil_rts(f, &rts.base);
	if (!to_state(f, qp, IBV_QPS_INIT) || !iwt_modify_qp(f, qp, &rtr))
		return false;
	iwt_count(D_RTR, 0);
	if (iwt_chance(f, wrong / 2))
		return true;	/* stays in RTR */
	return iwt_modify_qp(f, qp, &rts);
}

/* Makes two queue pairs, and connects them to each other. */
void iwt_op_direct_pair(struct fuzz *f)
{
	struct know one, other;
	struct obj *x, *y;

	x = iwt_make_qp(f);
	y = iwt_make_qp(f);
	if (!x || !y || x == y)
		return;
	one = (struct know) { y->num, iwt_below(f, NUMBERS), iwt_below(f, NUMBERS) };
	other = (struct know) { x->num, one.peer_psn, one.psn };
	/* without receives, the peer's Sends wait */
	if (iwt_chance(f, 70))
		iwt_post_recvs(f, x, 16);
	if (iwt_chance(f, 70))
		iwt_post_recvs(f, y, 16);
	if (connect_end(f, x, &one, 0) && connect_end(f, y, &other, 0))
		x->connected = y->connected = true;
}

/*
 * Lets a queue pair connect to another queue pair, to itself, or to a queue pair that does not
 * exist. Often changes the state of the queue pair again before there is a connection.
 */
void iwt_op_direct(struct fuzz *f)
{
	struct obj *qp = iwt_pick(f, QP, -1), *peer = iwt_pick(f, QP, -1);
	static const uint8_t to[] = { IBV_QPS_ERR, IBV_QPS_RESET, IBV_QPS_SQD, IBV_QPS_RTS };
	struct know k;

	if (!qp || !peer)
		return;
	/* few PSNs, so that two steps of the same process may make a connection by chance */
	k = (struct know) { peer->num, iwt_below(f, 2), iwt_below(f, 2) };
	if (iwt_chance(f, 70))
		to_state(f, qp, IBV_QPS_RESET);
	if (!connect_end(f, qp, &k, 30))
		return;
	qp->connected = true;
	if (iwt_chance(f, 30))
		to_state(f, qp, to[iwt_below(f, sizeof(to))]);
	else if (iwt_chance(f, 20))
		iwt_destroy(f, QP, qp);
}
