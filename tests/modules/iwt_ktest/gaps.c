// SPDX-License-Identifier: GPL-2.0
/*
 * Fast registration of pieces that begin and end at any byte (IB_MR_TYPE_SG_GAPS), and of as many
 * pages as the device allows (IB_MR_TYPE_MEM_REG).
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "kt.h"

#define PIECES	16
#define ROOM	max(8192, PAGE_SIZE)	/* bytes of the memory around a piece */
#define PIECE	60001	/* bytes of one Write into a long list of pages */
#define RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ)

/**
 * struct gaps - a region that consists of pieces
 * @e: end that owns the region
 * @mr: region
 * @mem: memory around each piece, ROOM bytes
 * @at: offset of each piece in its memory
 * @len: bytes of each piece
 * @n: number of pieces in use
 * @sg: list of the pieces
 * @first: bytes of the first piece that ib_map_mr_sg() skips
 * @total: bytes of the region
 */
struct gaps {
	struct kt_end *e;
	struct ib_mr *mr;
	u8 *mem[PIECES];
	u32 at[PIECES];
	u32 len[PIECES];
	int n;
	struct scatterlist sg[PIECES];
	u32 first;
	u32 total;
};

static void free_gaps(struct gaps *g)
{
	int i;

	if (!IS_ERR_OR_NULL(g->mr))
		ib_dereg_mr(g->mr);
	for (i = 0; i < PIECES; i++)
		kfree(g->mem[i]);
	kfree(g);
}

static struct gaps *make_gaps(struct kt_end *e)
{
	struct gaps *g = kzalloc(sizeof(*g), GFP_KERNEL);
	int i;

	if (!g)
		return NULL;
	g->e = e;
	for (i = 0; i < PIECES; i++) {
		g->mem[i] = kmalloc(ROOM, GFP_KERNEL);
		if (!g->mem[i])
			goto fail;
	}
	g->mr = ib_alloc_mr(e->pd, IB_MR_TYPE_SG_GAPS, PIECES);
	if (!kt_bad(e->conn, IS_ERR(g->mr), "ib_alloc_mr: %ld", PTR_ERR(g->mr)))
		return g;
fail:
	free_gaps(g);
	return NULL;
}

/* Chooses pieces of random length at random places; all except the first may be empty. */
static void choose(struct gaps *g)
{
	int i;

	g->n = 1 + get_random_u32() % PIECES;
	g->total = 0;
	sg_init_table(g->sg, g->n);
	for (i = 0; i < g->n; i++) {
		memset(g->mem[i], KT_GUARD, ROOM);
		g->at[i] = get_random_u32() % (ROOM - 1);
		g->len[i] = 1 + get_random_u32() % (ROOM - g->at[i]);
		if (i && get_random_u32() % 8 == 0)
			g->len[i] = 0;
		sg_set_page(&g->sg[i], virt_to_page(g->mem[i] + g->at[i]),
			    g->len[i], offset_in_page(g->mem[i] + g->at[i]));
		g->total += g->len[i];
	}
	g->first = get_random_u32() % g->len[0];
	g->total -= g->first;
}

/* Registers the mapped pieces under a new key. Return: 0 or -EIO */
static int reg(struct kt_end *e, struct ib_mr *mr)
{
	u32 i = e->logged[KT_SEND], n = e->posted[KT_SEND];
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.mr = mr,
		.access = RIGHTS,
	};

	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	wr.key = mr->rkey;
	if (kt_bad(e->conn, iwt_kt_post(e, &wr.wr), "post of REG_MR"))
		return -EIO;
	return iwt_kt_expect(e, KT_SEND, i, n, IB_WC_SUCCESS, IB_WC_REG_MR);
}

/* Return: 0 or -EIO */
static int map_and_register(struct gaps *g)
{
	struct kt_end *e = g->e;
	unsigned int skip = g->first;
	int got = ib_map_mr_sg(g->mr, g->sg, g->n, &skip, PAGE_SIZE);

	if (kt_bad(e->conn, got != g->n, "%d of %d pieces", got, g->n) ||
	    kt_bad(e->conn, g->mr->length != g->total, "%llu octets of %u",
		   g->mr->length, g->total))
		return -EIO;
	return reg(e, g->mr);
}

static int invalidate(struct gaps *g)
{
	struct kt_end *e = g->e;
	u32 i = e->logged[KT_SEND], n = e->posted[KT_SEND];
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = g->mr->rkey,
	};

	if (kt_bad(e->conn, iwt_kt_post(e, &wr), "post of LOCAL_INV"))
		return -EIO;
	return iwt_kt_expect(e, KT_SEND, i, n, IB_WC_SUCCESS, IB_WC_LOCAL_INV);
}

/*
 * Checks that bytes [off, off + len) of the region contain the pattern, and that all other bytes
 * in and around the pieces are still KT_GUARD.
 */
static int check(struct gaps *g, u32 off, u32 len, u32 seed)
{
	u32 pos = 0, k;
	int i;

	for (i = 0; i < g->n; i++) {
		u32 begin = g->at[i] + (i ? 0 : g->first);
		u32 end = g->at[i] + g->len[i];

		for (k = 0; k < ROOM; k++) {
			bool inside = k >= begin && k < end;
			bool written = inside && pos >= off && pos < off + len;
			bool good = written ?
				iwt_kt_same(g->mem[i] + k, 1, pos - off, seed) :
				g->mem[i][k] == KT_GUARD;

			if (kt_bad(g->e->conn, !good,
				   "octet %u of piece %d (%u to %u), of the region %u, written %d",
				   k, i, begin, end, pos, written))
				return -EIO;
			pos += inside;
		}
	}
	return 0;
}

/* The client writes to a part of the region, and reads this part back. */
static int write_and_read(struct gaps *g, u32 seed)
{
	struct kt_conn *c = g->e->conn;
	u32 off = get_random_u32() % g->total;
	u32 len = 1 + get_random_u32() % min_t(u32, g->total - off, KT_BUF / 2);
	struct ib_sge src = iwt_kt_sge(&c->c, 0, len);
	struct ib_sge back = iwt_kt_sge(&c->c, KT_BUF / 2, len);
	u32 i, n;

	iwt_kt_fill_sges(&c->c, &src, 1, seed);
	if (kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_WRITE, &src, 1, 0,
				  g->mr->iova + off, g->mr->rkey), "WRITE") ||
	    iwt_kt_sync(&c->c) || check(g, off, len, seed))
		return -EIO;
	i = c->c.logged[KT_SEND];
	n = c->c.posted[KT_SEND];
	if (kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &back, 1,
				  IB_SEND_SIGNALED, g->mr->iova + off,
				  g->mr->rkey), "READ") ||
	    iwt_kt_expect(&c->c, KT_SEND, i, n, IB_WC_SUCCESS, IB_WC_RDMA_READ))
		return -EIO;
	return kt_bad(c, memcmp(c->c.buf, c->c.buf + KT_BUF / 2, len),
		      "a Read returned other octets");
}

static int any_pieces(struct kt_conn *c)
{
	struct gaps *g = make_gaps(&c->s);
	int i, n, err = g ? 0 : -EIO;

	for (i = 0; i < 60 && !err; i++) {
		choose(g);
		n = ib_dma_map_sg(c->s.dev, g->sg, g->n, DMA_BIDIRECTIONAL);
		err = kt_bad(c, n != g->n, "%d pieces are mapped", n);
		if (err)
			break;
		err = map_and_register(g) ?: write_and_read(g, i) ?:
		      invalidate(g);
		ib_dma_unmap_sg(c->s.dev, g->sg, g->n, DMA_BIDIRECTIONAL);
	}
	if (g)
		free_gaps(g);
	return err;
}

/* The client fills all @n pages of the region by Writes of up to PIECE bytes. */
static int write_pages(struct kt_conn *c, struct ib_mr *mr, u32 n)
{
	u32 off, len, all = n * PAGE_SIZE;

	for (off = 0; off < all; off += len) {
		struct ib_sge src = iwt_kt_sge(&c->c, 0, len = min_t(u32, PIECE, all - off));

		iwt_kt_fill_sges(&c->c, &src, 1, off);
		if (kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_WRITE, &src, 1, 0,
					  mr->iova + off, mr->rkey), "WRITE") ||
		    iwt_kt_sync(&c->c))
			return -EIO;
	}
	return 0;
}

static int check_pages(struct kt_conn *c, u8 **page, u32 n)
{
	u32 k;

	for (k = 0; k < n * PAGE_SIZE; k++)
		if (kt_bad(c, !iwt_kt_same(page[k / PAGE_SIZE] + k % PAGE_SIZE, 1,
					   k % PIECE, k - k % PIECE),
			   "octet %u of %u pages", k, n))
			return -EIO;
	return 0;
}

/*
 * Registers @n pages (@n is even), in an order in which adjacent entries are not adjacent in
 * memory. The client writes to the pages, and then this function checks the contents of all
 * pages.
 */
static int use_pages(struct kt_conn *c, struct ib_mr *mr, struct scatterlist *sg, u8 **page, u32 n)
{
	u32 i;
	int got, err;

	sg_init_table(sg, n);
	for (i = 0; i < n; i++) {
		u32 at = i % 2 ? n - i : i;

		page[at] = (u8 *)__get_free_page(GFP_KERNEL | __GFP_ZERO);
		if (!page[at])
			return -ENOMEM;
		sg_set_buf(&sg[at], page[at], PAGE_SIZE);
	}
	got = ib_dma_map_sg(c->s.dev, sg, n, DMA_BIDIRECTIONAL);
	if (kt_bad(c, got != n, "%d of %u pages are mapped", got, n))
		return -EIO;
	got = ib_map_mr_sg(mr, sg, n, NULL, PAGE_SIZE);
	err = kt_bad(c, got != n, "%d of %u pages", got, n) ?:
	      reg(&c->s, mr) ?: write_pages(c, mr, n) ?: check_pages(c, page, n);
	ib_dma_unmap_sg(c->s.dev, sg, n, DMA_BIDIRECTIONAL);
	return err;
}

/*
 * The device must report at least 512 pages as the maximum of a region. A region with this number
 * of pages must work, and a region with more pages must be refused.
 */
static int most_pages(struct kt_conn *c)
{
	u32 most = c->s.dev->attrs.max_fast_reg_page_list_len, i;
	struct scatterlist *sg = kvcalloc(most, sizeof(*sg), GFP_KERNEL);
	u8 **page = kvcalloc(most, sizeof(*page), GFP_KERNEL);
	struct ib_mr *mr = ib_alloc_mr(c->s.pd, IB_MR_TYPE_MEM_REG, most);
	int err = kt_bad(c, !sg || !page || IS_ERR(mr) || most < 512, "%u pages", most);

	if (!err)
		err = use_pages(c, mr, sg, page, most);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	for (i = 0; page && i < most; i++)
		free_page((unsigned long)page[i]);
	kvfree(page);
	kvfree(sg);
	mr = ib_alloc_mr(c->s.pd, IB_MR_TYPE_MEM_REG, most + 1);
	err = err ?: kt_bad(c, !IS_ERR(mr), "a region with %u pages is allowed", most + 1);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	return err;
}

/*
 * If there are more pieces than the region can have, ib_map_mr_sg() must map the first pieces
 * only. It must refuse to skip the whole first piece.
 */
static int too_many(struct kt_conn *c)
{
	struct ib_mr *mr = ib_alloc_mr(c->s.pd, IB_MR_TYPE_SG_GAPS, 3);
	struct gaps *g = make_gaps(&c->s);
	unsigned int skip = 0;
	int i, got, err = g && !IS_ERR(mr) ? 0 : -EIO;

	if (!err) {
		sg_init_table(g->sg, 5);
		for (i = 0; i < 5; i++)
			sg_set_buf(&g->sg[i], g->mem[i] + i, 100);
		g->n = ib_dma_map_sg(c->s.dev, g->sg, 5, DMA_BIDIRECTIONAL);
		got = ib_map_mr_sg(mr, g->sg, 5, &skip, PAGE_SIZE);
		err = kt_bad(c, got != 3 || mr->length != 300,
			     "%d pieces of %llu octets", got, mr->length);
		skip = 100;
		got = ib_map_mr_sg(mr, g->sg, 5, &skip, PAGE_SIZE);
		err = err ?: kt_bad(c, got != -EINVAL, "skipping the whole first piece: %d", got);
		ib_dma_unmap_sg(c->s.dev, g->sg, 5, DMA_BIDIRECTIONAL);
	}
	if (g)
		free_gaps(g);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	return err;
}

/*
 * Maps two elements, the second of which begins at @second, in a region whose elements must end
 * and begin at borders of pages, or follow each other. Checks that @want elements are mapped.
 */
static int map_two(struct gaps *g, struct ib_mr *mr, u32 first, u8 *second, int want)
{
	struct kt_end *e = g->e;
	int got;

	sg_init_table(g->sg, 2);
	sg_set_buf(&g->sg[0], g->mem[0], first);
	sg_set_buf(&g->sg[1], second, 100);
	if (kt_bad(e->conn, ib_dma_map_sg(e->dev, g->sg, 2, DMA_BIDIRECTIONAL) != 2, "no memory"))
		return -EIO;
	got = ib_map_mr_sg(mr, g->sg, 2, NULL, PAGE_SIZE);
	ib_dma_unmap_sg(e->dev, g->sg, 2, DMA_BIDIRECTIONAL);
	return kt_bad(e->conn, got != want || mr->length != first + (want - 1) * 100,
		      "%u bytes, and then 100 from %lu on: %d elements, %llu octets",
		      first, offset_in_page(second), got, mr->length);
}

static int no_gaps(struct kt_conn *c)
{
	struct ib_mr *mr = ib_alloc_mr(c->s.pd, IB_MR_TYPE_MEM_REG, 4);
	struct gaps *g = make_gaps(&c->s);
	int err = g && !IS_ERR(mr) ? 0 : -EIO;

	err = err ?: map_two(g, mr, PAGE_SIZE, g->mem[1], 2) ?:
	      map_two(g, mr, PAGE_SIZE, g->mem[1] + 8, 1) ?:
	      map_two(g, mr, PAGE_SIZE - 8, g->mem[1], 1) ?:
	      map_two(g, mr, 200, g->mem[0] + 200, 2);
	if (g)
		free_gaps(g);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	return err;
}

const struct kt_case iwt_kt_gaps[] = {
	{ "pieces that begin and end anywhere", any_pieces },
	{ "more pieces than the region can hold", too_many },
	{ "as many pages as the device allows", most_pages },
	{ "a region of pages ends at a gap between elements", no_gaps },
	{}
};
