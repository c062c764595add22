// SPDX-License-Identifier: GPL-2.0
/* iwt_ulp: commands for the device, its queues, memory and asynchronous events. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ulp.h"

static struct ibv_comp_channel *channel[ULP_OBJECTS];
static struct ibv_srq *srqs[ULP_OBJECTS];
static struct ibv_pd *pds[ULP_OBJECTS];
static struct ibv_cq *cqs[ULP_OBJECTS];
static struct ibv_mw *mws[ULP_OBJECTS];
static struct ulp_mem mems[ULP_MRS];

static bool ready(uint64_t n)
{
	if (ulp_ctx && n < ULP_OBJECTS)
		return true;
	ulp_err(ulp_ctx ? ERANGE : ENODEV, "object");
	return false;
}

struct ibv_pd *ulp_pd(uint64_t n)
{
	if (!ready(n))
		return NULL;
	if (!pds[n])
		pds[n] = ibv_alloc_pd(ulp_ctx);
	if (!pds[n])
		ulp_err(errno, "ibv_alloc_pd");
	return pds[n];
}

static struct ibv_cq *cq_make(uint64_t n, int depth)
{
	if (!ready(n))
		return NULL;
	channel[n] = ibv_create_comp_channel(ulp_ctx);
	cqs[n] = channel[n] ? ibv_create_cq(ulp_ctx, depth, NULL, channel[n], 0) : NULL;
	if (!cqs[n])
		ulp_err(errno, "ibv_create_cq");
	return cqs[n];
}

struct ibv_cq *ulp_cq(uint64_t n)
{
	return n < ULP_OBJECTS && cqs[n] ? cqs[n] : cq_make(n, 1000);
}

struct ibv_srq *ulp_srq(uint64_t n)
{
	if (n < ULP_OBJECTS && srqs[n])
		return srqs[n];
	ulp_err(ENOENT, "srq");
	return NULL;
}

struct ibv_mw *ulp_mw(uint64_t n)
{
	if (n < ULP_OBJECTS && mws[n])
		return mws[n];
	ulp_err(ENOENT, "mw");
	return NULL;
}

struct ulp_mem *ulp_mem(uint64_t n)
{
	if (n < ULP_MRS && mems[n].buf)
		return &mems[n];
	ulp_err(ENOENT, "mr");
	return NULL;
}

/* device: name= and attributes of the device */
static int cmd_device(void)
{
	struct ibv_device_attr a;

	if (!ready(0))
		return -1;
	if (ibv_query_device(ulp_ctx, &a))
		return ulp_err(errno, "ibv_query_device");
	ulp_put(" name=%s ird=%d ord=%d atomic=%d qp_wr=%d sge=%d cqe=%d mr=%d mw=%d srq=%d flags=%#x",
		ibv_get_device_name(ulp_ctx->device), a.max_qp_rd_atom, a.max_qp_init_rd_atom,
		a.atomic_cap, a.max_qp_wr, a.max_sge, a.max_cqe, a.max_mr, a.max_mw, a.max_srq,
		a.device_cap_flags);
	return 0;
}

/* cq cq= [depth=] */
static int cmd_cq(void)
{
	return cq_make(ulp_num("cq", 0), ulp_num("depth", 1000)) ? 0 : -1;
}

/* srq srq= [pd=] [depth=] [sge=] [limit=]: creates the queue unless it exists; sets its limit */
static int cmd_srq(void)
{
	struct ibv_srq_init_attr a = { .attr = { ulp_num("depth", 64), ulp_num("sge", 1), 0 } };
	uint64_t n = ulp_num("srq", 0);
	struct ibv_pd *pd = ulp_pd(ulp_num("pd", 0));

	if (!pd || !ready(n))
		return -1;
	if (!srqs[n])
		srqs[n] = ibv_create_srq(pd, &a);
	if (!srqs[n])
		return ulp_err(errno, "ibv_create_srq");
	a.attr.srq_limit = ulp_num("limit", 0);
	if (a.attr.srq_limit && ibv_modify_srq(srqs[n], &a.attr, IBV_SRQ_LIMIT))
		return ulp_err(errno, "ibv_modify_srq");
	return 0;
}

static int access_flags(void)
{
	return (ulp_has("access", 'l') ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (ulp_has("access", 'w') ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (ulp_has("access", 'r') ? IBV_ACCESS_REMOTE_READ : 0) |
	       (ulp_has("access", 'a') ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
	       (ulp_has("access", 'b') ? IBV_ACCESS_MW_BIND : 0) |
	       (ulp_has("access", 'o') ? IBV_ACCESS_ON_DEMAND : 0) |
	       (ulp_has("access", 'x') ? IBV_ACCESS_RELAXED_ORDERING : 0) |
	       (ulp_has("access", 'z') ? IBV_ACCESS_ZERO_BASED : 0);
}

/* Maps the same @len bytes of memory @n times, one mapping after the other. */
static uint8_t *map_again(size_t len, unsigned int n)
{
	int fd = memfd_create("iwt_ulp", 0);
	uint8_t *p = MAP_FAILED;
	unsigned int i;

	if (fd >= 0 && !ftruncate(fd, len))
		p = mmap(NULL, len * n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (i = 0; i < n && p != MAP_FAILED; i++)
		if (mmap(p + i * len, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			p = MAP_FAILED;
	close(fd);
	return p;
}

/* Maps the memory of a region, which begins @off bytes after the beginning of a page. */
static int mem_make(struct ulp_mem *m, size_t off)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int again = ulp_num("again", 1);

	m->map_len = (m->len + off + 2 * page - 1) & ~(page - 1);
	if (again > 1) {
		m->map_len = m->len * again;
		m->map = map_again(m->len, again);
	} else {
		m->map = mmap(NULL, m->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	if (m->map == MAP_FAILED)
		return ulp_err(errno, "mmap");
	m->buf = m->map + off;
	memset(m->buf, ulp_num("fill", 0), m->len);
	m->len *= again;
	if (ulp_num("ro", 0))
		mprotect(m->map, m->map_len, PROT_READ);
	return 0;
}

/*
 * mr mr= [len=] [off=] [access=lwrabzox] [pd=] [iova=] [fill=] [ro=1] [of=] [again=]:
 * addr= stag= lkey=
 * Registers new memory, which begins off= bytes after the beginning of a page. With of= the
 * region uses the memory of another region instead, from the offset off=. Letters of access=:
 * l local write, w remote write, r remote read, a remote atomic, b windows can be bound,
 * z zero-based, o on-demand paging, x relaxed ordering. fill= is the value of each byte; ro=1 maps the memory
 * read-only. again= maps the same len bytes (whole pages) this number of times.
 */
static int cmd_mr(void)
{
	struct ibv_pd *pd = ulp_pd(ulp_num("pd", 0));
	size_t off = ulp_num("off", 0);
	uint64_t n = ulp_num("mr", 0);
	struct ulp_mem *m, *of = NULL;

	if (!pd)
		return -1;
	if (n >= ULP_MRS || mems[n].buf)
		return ulp_err(EEXIST, "mr");
	if (ulp_str("of") && !(of = ulp_mem(ulp_num("of", 0))))
		return -1;
	m = &mems[n];
	m->len = ulp_num("len", 4096);
	if (of)
		m->buf = of->buf + off;
	else if (mem_make(m, off))
		return -1;
	if (ulp_str("iova"))
		m->mr = ibv_reg_mr_iova(pd, m->buf, m->len, ulp_num("iova", 0), access_flags());
	else
		m->mr = ibv_reg_mr(pd, m->buf, m->len, access_flags());
	if (!m->mr) {
		int err = errno;

		if (m->map)
			munmap(m->map, m->map_len);
		memset(m, 0, sizeof(*m));
		return ulp_err(err, "ibv_reg_mr");
	}
	ulp_put(" addr=%#llx stag=%u lkey=%u",
		(unsigned long long)(ulp_str("iova") ? ulp_num("iova", 0) :
				     ulp_has("access", 'z') ? 0 : (uintptr_t)m->buf),
		m->mr->rkey, m->mr->lkey);
	return 0;
}

/* dereg mr=: deregisters the region; "dump" can still read its memory */
static int cmd_dereg(void)
{
	struct ulp_mem *m = ulp_mem(ulp_num("mr", 0));
	int rc;

	if (!m)
		return -1;
	if (!m->mr)
		return ulp_err(ENOENT, "mr");
	rc = ibv_dereg_mr(m->mr);
	if (rc)
		return ulp_err(rc, "ibv_dereg_mr");
	m->mr = NULL;
	return 0;
}

/* rereg mr= access=: stag= */
static int cmd_rereg(void)
{
	struct ulp_mem *m = ulp_mem(ulp_num("mr", 0));

	if (!m)
		return -1;
	if (ibv_rereg_mr(m->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access_flags()))
		return ulp_err(errno, "ibv_rereg_mr");
	ulp_put(" stag=%u", m->mr->rkey);
	return 0;
}

static uint8_t *range(size_t len)
{
	struct ulp_mem *m = ulp_mem(ulp_num("mr", 0));
	size_t off = ulp_num("off", 0);

	if (!m)
		return NULL;
	if (off > m->len || len > m->len - off) {
		ulp_err(ERANGE, "mr");
		return NULL;
	}
	return m->buf + off;
}

/* dump mr= [off=] [len=]: data= */
static int cmd_dump(void)
{
	struct ulp_mem *m = ulp_mem(ulp_num("mr", 0));
	size_t len;
	uint8_t *p;

	if (!m)
		return -1;
	len = ulp_num("len", m->len - ulp_num("off", 0));
	p = range(len);
	if (p)
		ulp_put_hex("data", p, len);
	return p ? 0 : -1;
}

/* same mr= [off=] [len=] [byte=]: same=1 if all bytes have the value byte=, else same=0 */
static int cmd_same(void)
{
	struct ulp_mem *m = ulp_mem(ulp_num("mr", 0));
	uint8_t byte = ulp_num("byte", 0), *p;
	size_t len, i;

	if (!m)
		return -1;
	len = ulp_num("len", m->len - ulp_num("off", 0));
	p = range(len);
	if (!p)
		return -1;
	for (i = 0; i < len && p[i] == byte; i++)
		;
	ulp_put(" same=%d", i == len);
	return 0;
}

/* set mr= [off=] data= */
static int cmd_set(void)
{
	size_t len;
	uint8_t *data = ulp_hex("data", &len), *p = range(len);

	if (p)
		memcpy(p, data, len);
	free(data);
	return p ? 0 : -1;
}

/* fill mr= [off=] len= [byte=] */
static int cmd_fill(void)
{
	size_t len = ulp_num("len", 0);
	uint8_t *p = range(len);

	if (p)
		memset(p, ulp_num("byte", 0), len);
	return p ? 0 : -1;
}

/* mw mw= [pd=] [type=2]: stag= */
static int cmd_mw(void)
{
	struct ibv_pd *pd = ulp_pd(ulp_num("pd", 0));
	uint64_t n = ulp_num("mw", 0);

	if (!pd || !ready(n))
		return -1;
	mws[n] = ibv_alloc_mw(pd, ulp_num("type", 2) == 2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	if (!mws[n])
		return ulp_err(errno, "ibv_alloc_mw");
	ulp_put(" stag=%u", mws[n]->rkey);
	return 0;
}

/* arm cq= [solicited=] */
static int cmd_arm(void)
{
	struct ibv_cq *cq = ulp_cq(ulp_num("cq", 0));
	int rc;

	if (!cq)
		return -1;
	rc = ibv_req_notify_cq(cq, ulp_num("solicited", 0));
	return rc ? ulp_err(rc, "ibv_req_notify_cq") : 0;
}

/* cqevent cq= [ms=]: event=0|1 */
static int cmd_cqevent(void)
{
	uint64_t n = ulp_num("cq", 0);
	struct ibv_cq *cq = ulp_cq(n);
	void *arg;
	bool got;

	if (!cq)
		return -1;
	got = ulp_wait(channel[n]->fd, ulp_num("ms", 5000));
	if (got && ibv_get_cq_event(channel[n], &cq, &arg))
		return ulp_err(errno, "ibv_get_cq_event");
	if (got)
		ibv_ack_cq_events(cq, 1);
	ulp_put(" event=%d", got);
	return 0;
}

/* async [ms=]: event=NUMBER [qpn=], or event=-1. Only events of queue pairs have qpn=. */
static int cmd_async(void)
{
	struct ibv_async_event ev;

	if (!ready(0))
		return -1;
	if (!ulp_wait(ulp_ctx->async_fd, ulp_num("ms", 5000))) {
		ulp_put(" event=-1");
		return 0;
	}
	if (ibv_get_async_event(ulp_ctx, &ev))
		return ulp_err(errno, "ibv_get_async_event");
	ulp_put(" event=%d", ev.event_type);
	if ((ev.event_type <= IBV_EVENT_PATH_MIG_ERR && ev.event_type != IBV_EVENT_CQ_ERR) ||
	    ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
		ulp_put(" qpn=%u", ev.element.qp->qp_num);
	ibv_ack_async_event(&ev);
	return 0;
}

const struct ulp_command ulp_obj_commands[] = {
	{ "device", cmd_device },
	{ "cq", cmd_cq },
	{ "srq", cmd_srq },
	{ "mr", cmd_mr },
	{ "dereg", cmd_dereg },
	{ "rereg", cmd_rereg },
	{ "dump", cmd_dump },
	{ "same", cmd_same },
	{ "set", cmd_set },
	{ "fill", cmd_fill },
	{ "mw", cmd_mw },
	{ "arm", cmd_arm },
	{ "cqevent", cmd_cqevent },
	{ "async", cmd_async },
	{ }
};
