// SPDX-License-Identifier: GPL-2.0
/* The mistakes of a judge (judge.h). Each mistake changes a correct request, receive or ring. */
#include <string.h>

#include <infiniband/verbs.h>

#include "judge.h"

static const uint64_t end_of_mine = REGION_AT(MINE) + REGION_BYTES;

/* ---- the scatter/gather list of a request or a receive ---- */

static void no_such_key(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->lkey ^= 1u << iwt_below(j->f, 32);
}

static void other_domain(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->addr = REGION_AT(OTHERS);
	sge->lkey = j->mr[OTHERS].num;
}

static void kernel_key(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->lkey = 0;
}

static void behind_end(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->addr = end_of_mine - iwt_below(j->f, sge->length);
}

static void before_begin(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->addr = REGION_AT(MINE) - 1 - iwt_below(j->f, 64);
}

static void round_the_end(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->addr = -(uint64_t)iwt_below(j->f, sge->length);
}

static void longer(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	static const uint32_t more[] = { 0, 1, PAGE, 0x7fffff00, 0xfffffbff - REGION_BYTES };

	sge->length = REGION_BYTES + 1 + more[iwt_below(j->f, 5)];
}

static void not_writable(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->addr = REGION_AT(READ_ONLY);
	sge->lkey = j->mr[READ_ONLY].num;
}

static void second_key(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge[1] = sge[0];
	no_such_key(j, w, &sge[1]);
	w->num_sge = 2;
}

/* ---- the peer's memory ---- */

static void no_such_rkey(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->rkey ^= 1u << iwt_below(j->f, 32);
}

static void peers_other_domain(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->remote_addr = REGION_AT(OTHERS);
	w->rkey = j->mr[OTHERS].num;
}

static void peers_end(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->remote_addr = end_of_mine;
	if (w->opcode == IWT_WR_WRITE || w->opcode == IWT_WR_READ)
		w->remote_addr -= iwt_below(j->f, sge->length);
}

static void peers_begin(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->remote_addr = REGION_AT(MINE) - 8 * (1 + iwt_below(j->f, 8));
}

static void peers_rights(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->remote_addr = REGION_AT(READ_ONLY);
	w->rkey = j->mr[READ_ONLY].num;
}

static void peers_invalidate(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->opcode = IWT_WR_SEND_WITH_INV;
	w->ex = j->mr[iwt_below(j->f, REGIONS)].num;
}

/* ---- other fields of the request ---- */

static void many_elements(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge[1] = sge[0];
	w->num_sge = JUDGED_SGES + 1 + (iwt_chance(j->f, 50) ? 0 : iwt_below(j->f, 253));
}

static void much_inline(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	static const uint32_t len[] = { 33, 64, 256, 257, 4096, 0x80000000, 0xffffffff };

	w->flags |= IWT_WR_INLINE;
	w->inline_len = len[iwt_below(j->f, 7)];
}

static void kernel_operation(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	static const uint8_t op[] = {
		IWT_WR_READ_WITH_INV, IWT_WR_REG_MR, IWT_WR_MASKED_FETCH_ADD,
		IWT_WR_MASKED_CMP_SWAP,
	};

	w->opcode = op[iwt_below(j->f, 4)];
	w->ex = j->mr[MINE].num;
}

static void no_operation(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->opcode = IWT_WR_BIND_MW + 1 + iwt_below(j->f, 255 - IWT_WR_BIND_MW);
}

static void two_sinks(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge[1] = sge[0];
	w->num_sge = 2;
}

static void inline_sink(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->flags |= IWT_WR_INLINE;
	w->inline_len = 8;
}

static void short_sink(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->length = iwt_below(j->f, 8);
}

static void data_and_imm(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->opcode = IWT_WR_SEND_WITH_IMM;
}

static void invalidate(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	w->opcode = IWT_WR_LOCAL_INV;
	w->num_sge = 0;
	w->ex = j->mr[iwt_below(j->f, REGIONS)].num;
}

/* Binds bytes of a region to a key that does not belong to a window. */
static void bind_no_window(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	struct iwt_bind_body body = {
		.addr = REGION_AT(MINE), .length = 8, .lkey = j->mr[MINE].num,
	};

	w->opcode = IWT_WR_BIND_MW;
	w->num_sge = 0;
	w->rkey = iwt_chance(j->f, 50) ? j->mr[iwt_below(j->f, REGIONS)].num : iwt_rnd(j->f);
	w->ex = IBV_ACCESS_REMOTE_READ;
	_Static_assert(sizeof(body) <= JUDGED_SGES * sizeof(*sge), "it fits");
	memcpy(sge, &body, sizeof(body));
}

/* ---- the receive ---- */

static void many_in_recv(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	static const uint32_t n[] = { JUDGED_SGES + 1, 17, 256, 4096, 0x10000001, 0xffffffff };

	j->recv->num_sge = n[iwt_below(j->f, 6)];
	sge[1] = sge[0];
}

static void short_recv(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	sge->length -= 1 + iwt_below(j->f, sge->length);
}

static void no_recv(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	j->recv->num_sge = 0;
}

/* ---- indices of rings ---- */

static void far(struct judge *j, const struct ring *r)
{
	static const uint32_t more[] = { 1, 2, 1000, 0x7fffffff, 0xfffffff0 - JUDGED_WRS };

	iwt_ctl(r)->prod = iwt_ctl(r)->cons + r->entries + more[iwt_below(j->f, 5)];
}

static void far_ahead(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	far(j, &j->qp[TX].ring[0]);
}

static void far_back(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	iwt_ctl(&j->qp[TX].ring[0])->prod -= 1 + iwt_below(j->f, 3);
}

static void recvs_far_ahead(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	far(j, &j->qp[RX].ring[1]);
}

/*
 * Posts more requests than the completion queue has entries, and removes no completion from it.
 */
static void fill_cq(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge)
{
	uint32_t n;

	j->keep = true;
	w->wr_id = 1;
	for (n = 0; n < JUDGED_FEW + 4; n++)
		iwt_judged_post(j, w, sizeof(*w) + sizeof(*sge));
}

#define SEND		IWT_WR_SEND
#define WRITE		IWT_WR_WRITE
#define READ		IWT_WR_READ
#define IMM		IWT_WR_WRITE_WITH_IMM
#define ADD		IWT_WR_FETCH_ADD
#define SWAP		IWT_WR_CMP_SWAP
#define ALL		{ SEND, WRITE, READ, IMM, ADD, SWAP }, 6
#define PEERS		{ READ, ADD, SWAP }, 3
#define ONE(op)		{ op }, 1
#define RECV		ONE(SEND), TOLD | TOUCHES | IN_RECV

const struct wrong iwt_wrongs[] = {
	{ "a key that does not exist", no_such_key, ALL },
	{ "a region of another domain", other_domain, ALL },
	{ "the kernel's key", kernel_key, ALL },
	{ "octets behind a region", behind_end, ALL },
	{ "octets before a region", before_begin, ALL },
	{ "octets across the end of the address space", round_the_end, ALL },
	{ "a length beyond the region", longer, { SEND, WRITE, READ, IMM }, 4 },
	{ "a sink in a read-only region", not_writable, PEERS },
	{ "a second element without a region", second_key, { SEND, WRITE, IMM }, 3 },
	{ "an STag that does not exist", no_such_rkey, PEERS },
	{ "a Write with an STag that does not exist", no_such_rkey, ONE(WRITE), TOLD },
	{ "the peer's region of another domain", peers_other_domain, PEERS },
	{ "a Write to the peer's region of another domain", peers_other_domain, ONE(WRITE),
	  TOLD },
	{ "octets behind the peer's region", peers_end, PEERS },
	{ "a Write behind the peer's region", peers_end, ONE(WRITE), TOLD },
	{ "octets before the peer's region", peers_begin, PEERS },
	{ "a Write before the peer's region", peers_begin, ONE(WRITE), TOLD },
	{ "the peer's region without rights", peers_rights, PEERS },
	{ "a Write to the peer's region without rights", peers_rights, ONE(WRITE), TOLD },
	{ "a Write with Immediate Data without rights", peers_rights, ONE(IMM), TOLD },
	{ "an invalidation of the peer's region", peers_invalidate, ONE(SEND), TOLD | TOUCHES },
	{ "more elements than allowed", many_elements, { SEND, WRITE, IMM }, 3 },
	{ "more inline data than allowed", much_inline, { SEND, WRITE, IMM }, 3 },
	{ "an operation for the kernel only", kernel_operation, { READ, ADD, SWAP }, 3 },
	{ "an operation that does not exist", no_operation, ALL },
	{ "two sinks", two_sinks, PEERS },
	{ "a sink marked as inline", inline_sink, PEERS },
	{ "a sink shorter than the result", short_sink, { ADD, SWAP }, 2 },
	{ "Immediate Data together with other data", data_and_imm, ONE(SEND) },
	{ "an invalidation of a local region", invalidate, ONE(SEND) },
	{ "a bind to a key of no window", bind_no_window, ONE(SEND) },
	{ "a receive with a key that does not exist", no_such_key, RECV },
	{ "a receive into another domain's region", other_domain, RECV },
	{ "a receive with the kernel's key", kernel_key, RECV },
	{ "a receive behind a region", behind_end, RECV },
	{ "a receive before a region", before_begin, RECV },
	{ "a receive into a read-only region", not_writable, RECV },
	{ "a receive with too many elements", many_in_recv, RECV },
	{ "a receive that is too short", short_recv, RECV },
	{ "a receive without elements", no_recv, RECV },
	{ "a send queue's index too far", far_ahead, ONE(SEND), IN_RING },
	{ "a send queue's index moved back", far_back, ONE(SEND), IN_RING },
	{ "a receive queue's index too far", recvs_far_ahead, ONE(SEND),
	  TOLD | TOUCHES | QUIET },
	{ "a completion queue that is full", fill_cq, ONE(SEND), IN_RING | TOUCHES | FILLS },
};

const uint32_t iwt_n_wrongs = sizeof(iwt_wrongs) / sizeof(iwt_wrongs[0]);
