// SPDX-License-Identifier: GPL-2.0
/* What `rdma -dd resource show` says beyond the core's own attributes. */
#include "restrack.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "cq.h"
#include "mr.h"
#include "qp.h"

struct pair {
	const char *name;
	u32 value;
	bool hex;
};

/* All pairs in one nest, or -EMSGSIZE and nothing. */
static int put_pairs(struct sk_buff *msg, const struct pair *p, int n)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int i, ret = 0;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < n && !ret; i++) {
		if (p[i].hex)
			ret = rdma_nl_put_driver_u32_hex(msg, p[i].name,
							 p[i].value);
		else
			ret = rdma_nl_put_driver_u32(msg, p[i].name,
						     p[i].value);
	}
	if (ret) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

/**
 * iwt_fill_res_qp() - ib_device operation fill_res_qp_entry
 * @msg: netlink message
 * @ibqp: queue pair
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	struct pair p[] = {
		{ .name = "rdmap_state" },
		{ .name = "term_err", .hex = true },
		{ .name = "sq_started" },
		{ .name = "sq_completed" },
		{ .name = "rq_taken" },
	};

	spin_lock_bh(&qp->stream.lock);
	p[0].value = qp->state;
	p[1].value = qp->term_err;
	p[2].value = qp->stream.sq.cons;
	p[3].value = qp->stream.sq.retire;
	p[4].value = qp->stream.rq.cons;
	spin_unlock_bh(&qp->stream.lock);
	return put_pairs(msg, p, ARRAY_SIZE(p));
}

/**
 * iwt_fill_res_cq() - ib_device operation fill_res_cq_entry
 * @msg: netlink message
 * @ibcq: completion queue
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	struct pair p[] = {
		{ .name = "produced" },
		{ .name = "overrun" },
	};

	spin_lock_irq(&cq->lock);
	p[0].value = cq->prod;
	p[1].value = !!(cq->flags & IWT_RING_OVERRUN);
	spin_unlock_irq(&cq->lock);
	return put_pairs(msg, p, ARRAY_SIZE(p));
}

/**
 * iwt_fill_res_mr() - ib_device operation fill_res_mr_entry
 * @msg: netlink message
 * @ibmr: region
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct iwt_mr *mr = to_iwt_mr(ibmr);
	struct pair p[] = {
		{ .name = "kind", .value = mr->kind },
		{ .name = "valid" },
		{ .name = "rights", .hex = true },
		{ .name = "extents" },
		{ .name = "access", .hex = true },
	};

	read_lock_bh(&mr->lock);
	p[1].value = mr->region.valid;
	p[2].value = mr->region.rights;
	p[3].value = mr->map.n;
	p[4].value = mr->access;
	read_unlock_bh(&mr->lock);
	return put_pairs(msg, p, ARRAY_SIZE(p));
}
