// SPDX-License-Identifier: GPL-2.0
/* Fast registrations over new pages, and checks of the pages. */
#include <linux/mm.h>

#include "kt.h"

/**
 * iwt_kt_mr_make() - allocate a region and its pages, without registering them
 * @e: end; the region is for the device of this end
 * @m: region
 * @pd: protection domain
 * @start: bytes to skip in the first page
 * @len: bytes of the region
 *
 * Return: 0 or -EIO; the caller frees @m in both cases.
 */
int iwt_kt_mr_make(struct kt_end *e, struct kt_mr *m, struct ib_pd *pd,
		   u32 start, u32 len)
{
	int i;

	memset(m, 0, sizeof(*m));
	m->end = e;
	m->start = start;
	m->len = len;
	sg_init_table(m->sg, KT_PAGES);
	for (i = 0; i < KT_PAGES; i++) {
		u32 end = min_t(u32, PAGE_SIZE, start + len - i * PAGE_SIZE);

		m->page[i] = alloc_page(GFP_KERNEL);
		if (kt_bad(e->conn, !m->page[i], "no memory"))
			return -EIO;
		memset(page_address(m->page[i]), KT_GUARD, PAGE_SIZE);
		sg_set_page(&m->sg[i], m->page[i], end, 0);
	}
	if (kt_bad(e->conn, ib_dma_map_sg(e->dev, m->sg, KT_PAGES,
					  DMA_BIDIRECTIONAL) != KT_PAGES,
		   "pages cannot be mapped"))
		return -EIO;
	m->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, KT_PAGES);
	return kt_bad(e->conn, IS_ERR(m->mr), "ib_alloc_mr: %ld",
		      PTR_ERR(m->mr));
}

/* Frees everything that iwt_kt_mr_make() has allocated, even if iwt_kt_mr_make() has failed. */
void iwt_kt_mr_free(struct kt_mr *m)
{
	int i;

	if (!IS_ERR_OR_NULL(m->mr))
		ib_dereg_mr(m->mr);
	if (m->mr)
		ib_dma_unmap_sg(m->end->dev, m->sg, KT_PAGES, DMA_BIDIRECTIONAL);
	for (i = 0; i < KT_PAGES; i++)
		if (m->page[i])
			__free_page(m->page[i]);
}

/**
 * iwt_kt_mr_map() - map the pages, change to the next key, and fill in the work request
 * @m: region
 * @wr: work request to fill in
 * @access: IB_ACCESS_ flags
 * @flags: IB_SEND_ flags
 *
 * Return: 0 or -EIO.
 */
int iwt_kt_mr_map(struct kt_mr *m, struct ib_reg_wr *wr, int access, int flags)
{
	struct kt_conn *c = m->end->conn;
	unsigned int skip = m->start;
	int n;

	n = ib_map_mr_sg(m->mr, m->sg, KT_PAGES, &skip, PAGE_SIZE);
	if (kt_bad(c, n != KT_PAGES, "ib_map_mr_sg: %d", n))
		return -EIO;
	if (kt_bad(c, m->mr->length != m->len, "region of %llu octets, not %u",
		   m->mr->length, m->len))
		return -EIO;
	ib_update_fast_reg_key(m->mr, ib_inc_rkey(m->mr->rkey));
	*wr = (struct ib_reg_wr) {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = flags,
		.mr = m->mr,
		.key = m->mr->rkey,
		.access = access,
	};
	return 0;
}

/* Registers the region, and waits for the completion. Return: 0 or -EIO */
int iwt_kt_mr_reg(struct kt_mr *m, int access)
{
	struct kt_end *e = m->end;
	u32 i = e->logged[KT_SEND], n = e->posted[KT_SEND];
	struct ib_reg_wr wr;

	if (iwt_kt_mr_map(m, &wr, access, IB_SEND_SIGNALED) ||
	    kt_bad(e->conn, iwt_kt_post(e, &wr.wr), "post of REG_MR"))
		return -EIO;
	return iwt_kt_expect(e, KT_SEND, i, n, IB_WC_SUCCESS, IB_WC_REG_MR);
}

/*
 * Invalidates the region. If @flags contains IB_SEND_SIGNALED, waits for the completion. Return:
 * 0 or -EIO
 */
int iwt_kt_mr_inv(struct kt_mr *m, int flags)
{
	struct kt_end *e = m->end;
	u32 i = e->logged[KT_SEND], n = e->posted[KT_SEND];
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = flags,
		.ex.invalidate_rkey = m->mr->rkey,
	};

	if (kt_bad(e->conn, iwt_kt_post(e, &wr), "post of LOCAL_INV"))
		return -EIO;
	if (!(flags & IB_SEND_SIGNALED))
		return 0;
	return iwt_kt_expect(e, KT_SEND, i, n, IB_WC_SUCCESS, IB_WC_LOCAL_INV);
}

/* Fills bytes [off, off + len) of the region with the pattern, and other bytes with guards. */
void iwt_kt_mr_fill(struct kt_mr *m, u32 off, u32 len, u32 seed)
{
	u32 done, part;
	int i;

	for (i = 0; i < KT_PAGES; i++)
		memset(page_address(m->page[i]), KT_GUARD, PAGE_SIZE);
	for (done = 0; done < len; done += part) {
		u32 at = m->start + off + done;

		part = min_t(u32, PAGE_SIZE - at % PAGE_SIZE, len - done);
		iwt_kt_fill(page_address(m->page[at / PAGE_SIZE]) +
			    at % PAGE_SIZE, part, done, seed);
	}
}

/*
 * Return: true if the bytes from @from to @to - 1 of the page contain the pattern @seed,
 * beginning at byte @done of the pattern, and all other bytes are KT_GUARD.
 */
static bool page_good(const u8 *page, u32 from, u32 to, u32 done, u32 seed)
{
	return iwt_kt_is_guard(page, from) &&
	       iwt_kt_same(page + from, to - from, done, seed) &&
	       iwt_kt_is_guard(page + to, PAGE_SIZE - to);
}

/**
 * iwt_kt_mr_check() - check every byte of the region's pages
 * @m: region
 * @off: offset of the pattern in the region
 * @len: bytes of the pattern; all other bytes must be unchanged
 * @seed: seed of the pattern
 *
 * Return: 0 or -EIO.
 */
int iwt_kt_mr_check(struct kt_mr *m, u32 off, u32 len, u32 seed)
{
	u32 from = m->start + off, to = from + len, i;

	for (i = 0; i < KT_PAGES; i++) {
		u32 a = clamp_t(u32, from, i * PAGE_SIZE, (i + 1) * PAGE_SIZE);
		u32 b = clamp_t(u32, to, i * PAGE_SIZE, (i + 1) * PAGE_SIZE);

		if (kt_bad(m->end->conn,
			   !page_good(page_address(m->page[i]), a - i * PAGE_SIZE,
				      b - i * PAGE_SIZE, a - from, seed),
			   "wrong octets in page %u of the region", i))
			return -EIO;
	}
	return 0;
}

/* Return: a scatter-gather element for a piece of the region, with its local key */
struct ib_sge iwt_kt_mr_sge(struct kt_mr *m, u32 off, u32 len)
{
	return (struct ib_sge) {
		.addr = m->mr->iova + off,
		.length = len,
		.lkey = m->mr->lkey,
	};
}
