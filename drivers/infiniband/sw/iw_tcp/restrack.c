// SPDX-License-Identifier: GPL-2.0
/*
 * Driver attributes of `rdma -dd resource show`, in addition to the attributes of RDMA core.
 *
 * Every user may read these attributes, so they include nothing that helps an attacker: no kernel
 * or user addresses, no keys, no data. The IP addresses and ports of a connection are shown only
 * to users in the network namespace of the link, and to administrators of the machine.
 */
#include "restrack.h"

#include <linux/inet.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include <compat/dumps.h>

#include "cq.h"
#include "dev.h"
#include "mr.h"
#include "qp.h"
#include "sock.h"
#include "srq.h"

/* An attribute: name and value. A name has at most 15 characters. */
enum pair_kind { PAIR_U32, PAIR_HEX, PAIR_U64, PAIR_WORD };

struct pair {
	const char *name;
	enum pair_kind kind;
	union {
		u64 value;
		const char *word;
	};
};

static int put_pair(struct sk_buff *msg, const struct pair *p)
{
	switch (p->kind) {
	case PAIR_U32:
		return rdma_nl_put_driver_u32(msg, p->name, p->value);
	case PAIR_HEX:
		return rdma_nl_put_driver_u32_hex(msg, p->name, p->value);
	case PAIR_U64:
		return rdma_nl_put_driver_u64(msg, p->name, p->value);
	case PAIR_WORD:
		return rdma_nl_put_driver_string(msg, p->name, p->word);
	}
	return -EMSGSIZE;
}

/*
 * Put the pairs into one nested netlink attribute, but only those before the first pair without a
 * name, if there is one. Return: 0, or -EMSGSIZE; after an error the message contains none of the
 * pairs.
 */
static int put_pairs(struct sk_buff *msg, const struct pair *p, int n)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int i, ret = 0;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < n && p[i].name && !ret; i++)
		ret = put_pair(msg, &p[i]);
	if (ret) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

#define U32(_name, _value)	{ .name = _name, .value = _value }
#define HEX(_name, _value)	{ .name = _name, .kind = PAIR_HEX, .value = _value }
#define U64(_name, _value)	{ .name = _name, .kind = PAIR_U64, .value = _value }
#define WORD(_name, _word)	{ .name = _name, .kind = PAIR_WORD, .word = _word }

static const char *on_off(bool on)
{
	return on ? "on" : "off";
}

/* "192.0.2.1:20049" or "[2001:db8::1]:20049" */
#define NAME_LEN	(INET6_ADDRSTRLEN + 8)

/* Snapshot of a queue pair. */
struct qp_now {
	enum iwt_qp_state state;
	u32 term_err;
	u32 sq_started, sq_completed, rq_taken;
	bool connected, confirms, recv_wait, crc, tx_markers, rx_markers, large, zerocopy;
	u32 mpa_rev, emss, mulpdu;
	u32 ird, ird_used, ord, ord_used;
	u64 tx_octets, rx_octets, blocked;
	char local[NAME_LEN], remote[NAME_LEN];
};

static void name_of(char *buf, const struct sockaddr_storage *a)
{
	snprintf(buf, NAME_LEN, "%pISpc", a);
}

/* While the lock of the stream is held, the socket is not freed, but TCP may change its state. */
static void look_at_socket(const struct iwt_stream *st, struct qp_now *now)
	__must_hold(&st->lock)
{
	struct sockaddr_storage local, remote;

	if (!st->sock)
		return;
	now->connected = true;
	now->emss = iwt_sock_mss(st->sock);
	now->mulpdu = st->tx.large ? IWT_MULPDU_MAX :
				     iwt_mulpdu(now->emss, st->tx.markers);
	iwt_sock_names_now(st->sock, &local, &remote);
	name_of(now->local, &local);
	name_of(now->remote, &remote);
}

static void look_at_qp(struct iwt_qp *qp, struct qp_now *now)
{
	struct iwt_stream *st = &qp->stream;

	memset(now, 0, sizeof(*now));
	spin_lock_bh(&st->lock);
	now->state = qp->state;
	now->term_err = qp->term_err;
	now->sq_started = st->sq.cons;
	now->sq_completed = st->sq.retire;
	now->rq_taken = st->rq.cons;
	now->confirms = st->sq.confirm;
	now->recv_wait = st->rx.wait_recv;
	now->crc = st->tx.crc;
	now->tx_markers = st->tx.markers;
	now->rx_markers = st->rx.rules.markers;
	now->large = st->tx.large;
	now->zerocopy = st->tx.zerocopy != IWT_ZEROCOPY_OFF;
	now->mpa_rev = st->tx.mpa_rev;
	now->ird = st->readq.in_max;
	now->ird_used = st->readq.in_n;
	now->ord = iwt_readq_ord(&st->readq);
	now->ord_used = iwt_readq_waiting(&st->readq);
	now->tx_octets = st->tx.octets;
	now->rx_octets = st->rx.octets;
	now->blocked = st->tx.blocked;
	look_at_socket(st, now);
	spin_unlock_bh(&st->lock);
}

/* May the sender of the netlink request see the addresses of the connection? */
static bool may_see_names(const struct sk_buff *msg, const struct iwt_dev *dev)
{
	return iwt_dev_in(dev, iwt_sock_asker_net(msg)) || iwt_sock_asker_admin(msg);
}

static int put_qp(struct sk_buff *msg, const struct qp_now *now, bool names)
{
	const struct pair p[] = {
		WORD("rdmap_state", iwt_qp_state_name(now->state)),
		HEX("term_err", now->term_err),
		U32("sq_started", now->sq_started),
		U32("sq_completed", now->sq_completed),
		U32("rq_taken", now->rq_taken),
		U64("tx_octets", now->tx_octets),
		U64("rx_octets", now->rx_octets),
		U64("tx_blocked", now->blocked),
		U32(now->connected ? "mpa_revision" : NULL, now->mpa_rev),
		WORD("crc", on_off(now->crc)),
		WORD("tx_markers", on_off(now->tx_markers)),
		WORD("rx_markers", on_off(now->rx_markers)),
		WORD("large_fpdus", on_off(now->large)),
		WORD("zerocopy", on_off(now->zerocopy)),
		WORD("confirms", on_off(now->confirms)),
		WORD("recv_wait", on_off(now->recv_wait)),
		U32("emss", now->emss),
		U32("mulpdu", now->mulpdu),
		U32("ird", now->ird),
		U32("ird_used", now->ird_used),
		U32("ord", now->ord),
		U32("ord_used", now->ord_used),
		WORD(names ? "local" : NULL, now->local),
		WORD("remote", now->remote),
	};

	return put_pairs(msg, p, ARRAY_SIZE(p));
}

/**
 * iwt_fill_res_qp() - ib_device operation fill_res_qp_entry
 * @msg: netlink message
 * @ibqp: queue pair
 *
 * The attributes of a connection are included only if there is a connection. The numbers of sent
 * and received bytes are those of the present connection or, if there is none, of the last
 * connection. Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	struct qp_now now;

	look_at_qp(qp, &now);
	return put_qp(msg, &now, may_see_names(msg, qp->stream.dev));
}

/**
 * iwt_fill_res_cq() - ib_device operation fill_res_cq_entry
 * @msg: netlink message
 * @ibcq: completion queue
 *
 * Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	struct pair p[] = {
		U32("produced", 0),
		U32("overrun", 0),
		U32("mod_count", 0),
		U32("mod_period", 0),
		U32("armed", 0),
	};

	spin_lock_irq(&cq->lock);
	p[0].value = cq->prod;
	p[1].value = !!(cq->flags & IWT_RING_OVERRUN);
	p[2].value = cq->mod_count;
	p[3].value = cq->mod_period;
	p[4].value = compat_ring_exists(&cq->ring) && iwt_cq_armed(cq);
	spin_unlock_irq(&cq->lock);
	return put_pairs(msg, p, ARRAY_SIZE(p));
}

static const char * const mr_kinds[] = {
	[IWT_MR_USER]	= "user",
	[IWT_MR_FAST]	= "fast",
	[IWT_MR_DMA]	= "all",
	[IWT_MR_DMABUF]	= "dmabuf",
	[IWT_MR_ODP]	= "odp",
};

/**
 * iwt_fill_res_mr() - ib_device operation fill_res_mr_entry
 * @msg: netlink message
 * @ibmr: region
 *
 * Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct iwt_mr *mr = to_iwt_mr(ibmr);
	struct pair p[] = {
		WORD("kind", mr_kinds[mr->kind]),
		U32("valid", 0),
		HEX("rights", 0),
		U64("length", 0),
		U32("extents", 0),
		HEX("access", 0),
		U32("windows", 0),
		WORD("relaxed", NULL),
	};

	iwt_fair_read_lock_bh(&mr->lock);
	p[1].value = mr->region.valid;
	p[2].value = mr->region.rights;
	p[3].value = mr->region.len;
	p[4].value = mr->map.n;
	p[5].value = mr->access;
	p[6].value = atomic_read(&mr->windows);
	p[7].word = on_off(mr->region.relaxed);
	iwt_fair_read_unlock_bh(&mr->lock);
	return put_pairs(msg, p, ARRAY_SIZE(p));
}

/**
 * iwt_fill_res_srq() - ib_device operation fill_res_srq_entry
 * @msg: netlink message
 * @ibsrq: shared receive queue
 *
 * Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_fill_res_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct iwt_srq *srq = to_iwt_srq(ibsrq);
	struct pair p[] = {
		U32("max_wr", 0),
		U32("max_sge", 0),
		U32("limit", 0),
		U32("left", 0),
		U32("taken", 0),
		U32("failed", 0),
	};

	spin_lock_irq(&srq->rq.lock);
	p[0].value = srq->rq.entries;
	p[1].value = srq->rq.sge_max;
	p[2].value = srq->limit;
	p[3].value = compat_ring_prod(&srq->rq.ring, srq->rq.cons) - srq->rq.cons;
	p[4].value = srq->rq.cons;
	p[5].value = srq->failed;
	spin_unlock_irq(&srq->rq.lock);
	return put_pairs(msg, p, ARRAY_SIZE(p));
}
