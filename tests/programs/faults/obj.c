// SPDX-License-Identifier: GPL-2.0
/* Steps of iwt_faults: objects of verbs, each in several variants. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <fcntl.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "../../modules/iwt_dmabuf/iwt_dmabuf.h"

#include "faults.h"

#define LARGE	(16 << 20)

struct ibv_device *iwt_device;
struct ibv_context *iwt_context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *chan;
static struct ibv_cq *cq;
static struct ibv_cq_ex *cq_ex;
static struct ibv_qp *qp, *qp_ex;
static struct ibv_srq *srq;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static uint8_t memory[LARGE] __attribute__((aligned(4096)));

int iwt_open_device(void)
{
	iwt_context = ibv_open_device(iwt_device);
	return iwt_context ? 0 : -1;
}
int iwt_close_device(void) { return ibv_close_device(iwt_context); }
int iwt_make_pd(void) { pd = ibv_alloc_pd(iwt_context); return pd ? 0 : -1; }
int iwt_free_pd(void) { return ibv_dealloc_pd(pd); }
int iwt_make_chan(void) { chan = ibv_create_comp_channel(iwt_context); return chan ? 0 : -1; }
int iwt_free_chan(void) { return ibv_destroy_comp_channel(chan); }

int iwt_make_cq(void)
{
	cq = ibv_create_cq(iwt_context, 100, NULL, chan, 0);
	return cq ? 0 : -1;
}
int iwt_free_cq(void) { return ibv_destroy_cq(cq); }

/* Creates a completion queue with timestamps and other attributes that are not the default. */
int iwt_make_cq_ex(void)
{
	struct ibv_cq_init_attr_ex a = {
		.cqe = 100000,
		.channel = chan,
		.comp_vector = 1,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};

	cq_ex = ibv_create_cq_ex(iwt_context, &a);
	return cq_ex ? 0 : -1;
}
int iwt_free_cq_ex(void) { return ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)); }

/* Makes a completion queue larger. If this fails, the queue must still have its old size. */
int iwt_resize_cq(unsigned int n)
{
	int before, rc;

	if (iwt_make_cq())
		iwt_die("a completion queue");
	before = cq->cqe;
	iwt_arm(n);
	rc = ibv_resize_cq(cq, 5000);
	if (!rc != (cq->cqe >= 5000) || (rc && cq->cqe != before))
		return IWT_WRONG;
	errno = rc;
	return rc;
}

int iwt_make_qp(void)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = { 100, 100, 4, 4, 0 },
	};

	qp = ibv_create_qp(pd, &a);
	return qp ? 0 : -1;
}
int iwt_free_qp(void) { return ibv_destroy_qp(qp); }

int iwt_make_qp_ex(void)
{
	struct ibv_qp_init_attr_ex a = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4000, 4000, 16, 16, 256 },
		.sq_sig_all = 1,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ,
	};

	qp_ex = ibv_create_qp_ex(iwt_context, &a);
	return qp_ex ? 0 : -1;
}
int iwt_free_qp_ex(void) { return ibv_destroy_qp(qp_ex); }

int iwt_make_srq(void)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 100, .max_sge = 4 } };

	srq = ibv_create_srq(pd, &a);
	return srq ? 0 : -1;
}
int iwt_free_srq(void) { return ibv_destroy_srq(srq); }

static int post_srq(uint32_t n)
{
	struct ibv_recv_wr wr = {}, *bad;

	while (n--)
		if (ibv_post_srq_recv(srq, &wr, &bad))
			return -1;
	return 0;
}

/* Makes a shared receive queue larger. If this fails, the queue must still have its old size. */
int iwt_resize_srq(unsigned int n)
{
	struct ibv_srq_attr a = { .max_wr = 1000 };
	bool larger;
	int rc;

	if (iwt_make_srq() || post_srq(100))
		iwt_die("a shared receive queue");
	iwt_arm(n);
	rc = ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR);
	larger = !post_srq(900);
	return !rc == larger ? rc : IWT_WRONG;
}

static int make_mr(size_t len)
{
	size_t i;

	/* write to the pages, so that they exist before they are registered */
	for (i = 0; i < len; i += 4096)
		memory[i] = 1;
	mr = ibv_reg_mr(pd, memory, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	return mr ? 0 : -1;
}
int iwt_make_mr_page(void) { return make_mr(4096); }
int iwt_make_mr(void) { return make_mr(3 * 65536); }
int iwt_make_mr_large(void) { return make_mr(LARGE); }
int iwt_free_mr(void) { return mr ? ibv_dereg_mr(mr) : 0; }

/* Registers a region for on-demand paging, and prefetches its first pages. */
int iwt_make_mr_odp(unsigned int n)
{
	struct ibv_sge sge = { (uintptr_t)memory, 64 * 4096, 0 };
	int rc;

	iwt_arm(n);
	mr = ibv_reg_mr(pd, memory, LARGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		return -1;
	sge.lkey = mr->lkey;
	rc = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	return rc ? -1 : 0;
}

/*
 * Registers a dma-buf, which the driver must pin. After an error the driver must have released
 * the dma-buf completely.
 */
int iwt_make_mr_dmabuf(unsigned int n)
{
	struct iwt_dmabuf_make m = { .size = 4 * 4096, .flags = IWT_DMABUF_MOVES };
	struct iwt_dmabuf_use use;
	int dev = open("/dev/iwt_dmabuf", O_RDWR | O_CLOEXEC), rc;

	if (dev < 0 || ioctl(dev, IWT_DMABUF_MAKE, &m))
		iwt_die("a dma-buf");
	iwt_arm(n);
	mr = ibv_reg_dmabuf_mr(pd, 0, 4 * 4096, 0, m.fd, IBV_ACCESS_LOCAL_WRITE);
	rc = mr ? 0 : -1;
	use.fd = m.fd;
	if (rc && (ioctl(dev, IWT_DMABUF_USE, &use) || use.attached || use.pinned || use.mapped || use.accessed))
		rc = IWT_WRONG;
	close(m.fd);
	close(dev);
	return rc;
}

int iwt_make_mw(void) { mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2); return mw ? 0 : -1; }
int iwt_free_mw(void) { return ibv_dealloc_mw(mw); }

/* Enlarges a region that has one page. If the call succeeds, the region's key must change. */
int iwt_rereg_mr(unsigned int n)
{
	uint32_t key;
	int rc;

	if (iwt_make_mr_page())
		iwt_die("a memory region");
	key = mr->rkey;
	iwt_arm(n);
	rc = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory, 3 * 65536, 0);
	if (!rc == (mr->rkey == key))
		return IWT_WRONG;
	return rc;
}
