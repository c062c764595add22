// SPDX-License-Identifier: GPL-2.0
/* A hostile process writes wrong requests and random values into its rings. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"
#include "patience.h"

/*
 * Waits for the completion of the request @id, which must report an error. Return: the status of
 * the completion.
 */
static int must_fail(struct conn *c, uint64_t id, const char *what)
{
	struct ibv_wc wc;

	do {
		if (!iwt_wait_wc(c, &wc))
			iwt_fail("%s: no completion", what);
	} while (wc.wr_id != id);
	if (wc.status == IBV_WC_SUCCESS)
		iwt_fail("%s: completed with success", what);
	return wc.status;
}

static void must_be_in_error(struct conn *c, const char *what)
{
	struct patience p = {};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	do {
		if (ibv_query_qp(c->qp, &attr, IBV_QP_STATE, &init))
			iwt_fail("%s: the state cannot be queried", what);
		if (attr.qp_state == IBV_QPS_ERR || attr.qp_state == IBV_QPS_SQE)
			return;
		usleep(1000);
	} while (patient(&p, PATIENCE, 0));
	iwt_fail("%s: state %d", what, attr.qp_state);
}

void iwt_opcodes(void)
{
	/*
	 * SEND_WITH_IMM is invalid here, because it cannot carry data besides the immediate data
	 */
	static const uint8_t op[] = { IWT_WR_READ_WITH_INV, IWT_WR_REG_MR,
				      IWT_WR_SEND_WITH_IMM,
				      IWT_WR_MASKED_FETCH_ADD,
				      IWT_WR_MASKED_CMP_SWAP,
				      IWT_WR_BIND_MW + 1, IWT_WR_BIND_MW + 2,
				      127, 128, 255 };
	unsigned int i;

	for (i = 0; i < sizeof(op); i++) {
		struct conn *c = iwt_dial(true);
		struct iwt_sge sge = { (uintptr_t)c->buf, 16, c->mr->lkey };
		struct iwt_send_wqe w = {
			.wr_id = 100 + i, .opcode = op[i], .num_sge = 1,
			.flags = IWT_WR_SIGNALED, .remote_addr = c->peer.addr,
			.rkey = c->peer.rkey, .ex = c->mr->rkey,
		};
		char what[40];

		sprintf(what, "opcode %u", op[i]);
		memset(c->buf, 0x5a, 16);
		iwt_raw(c, &w, &sge, 1);
		/* the operation must be refused before anything else is checked */
		if (must_fail(c, 100 + i, what) != IBV_WC_LOC_QP_OP_ERR)
			iwt_fail("%s: refused with another status", what);
		if (c->buf[0] != 0x5a || memcmp(c->buf, c->buf + 1, 15))
			iwt_fail("%s: the operation changed memory", what);
	}
}

void iwt_counts(void)
{
	static const struct { uint8_t flags, sges; uint32_t len; } k[] = {
		{ 0, 17, 0 }, { 0, 255, 0 }, { IWT_WR_INLINE, 0, 0xffffffff },
		{ IWT_WR_INLINE, 0, 4096 }, { IWT_WR_INLINE, 255, 0x80000000 },
		{ IWT_WR_INLINE, 0, IWT_MAX_INLINE + 65 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
		struct conn *c = iwt_dial(true);
		struct iwt_send_wqe w = {
			.wr_id = 200 + i, .opcode = IWT_WR_SEND,
			.flags = k[i].flags | IWT_WR_SIGNALED,
			.num_sge = k[i].sges, .inline_len = k[i].len,
		};

		iwt_raw(c, &w, NULL, 0);
		must_fail(c, 200 + i, "length or count");
	}
}

/*
 * An atomic operation needs exactly one element for its result. The element must have at least
 * eight bytes and must not refer to kernel memory.
 */
void iwt_atomics(void)
{
	static const struct {
		uint8_t flags, sges;
		uint32_t len;
		bool own;
		enum ibv_wc_status status;
	} k[] = {
		{ 0, 0, 8, true, IBV_WC_LOC_QP_OP_ERR },
		{ 0, 2, 8, true, IBV_WC_LOC_QP_OP_ERR },
		{ 0, 255, 8, true, IBV_WC_LOC_QP_OP_ERR },
		{ IWT_WR_INLINE, 1, 8, true, IBV_WC_LOC_QP_OP_ERR },
		{ IWT_WR_INLINE, 0, 8, true, IBV_WC_LOC_QP_OP_ERR },
		{ 0, 1, 7, true, IBV_WC_LOC_LEN_ERR },
		{ 0, 1, 0, true, IBV_WC_LOC_LEN_ERR },
		{ 0, 1, 0xffffffff, true, IBV_WC_LOC_PROT_ERR },
		{ 0, 1, 8, false, IBV_WC_LOC_PROT_ERR },
	};
	unsigned int i;

	for (i = 0; i < sizeof(k) / sizeof(k[0]) * 2; i++) {
		struct conn *c = iwt_dial(true);
		struct iwt_sge sge = { (uintptr_t)c->buf, k[i / 2].len,
				       k[i / 2].own ? c->mr->lkey : 0 };
		struct iwt_send_wqe w = {
			.wr_id = 400 + i, .inline_len = 8,
			.opcode = i % 2 ? IWT_WR_FETCH_ADD : IWT_WR_CMP_SWAP,
			.flags = k[i / 2].flags | IWT_WR_SIGNALED,
			.num_sge = k[i / 2].sges, .remote_addr = c->peer.addr,
			.rkey = c->peer.rkey,
		};

		if (!k[i / 2].own)
			sge.addr = 0xffff888000001000ull;
		memset(c->buf, 0x5a, 16);
		iwt_raw(c, &w, &sge, 1);
		if (must_fail(c, 400 + i, "atomic") != (int)k[i / 2].status)
			iwt_fail("atomic %u: refused with another status", i);
		if (c->buf[0] != 0x5a || memcmp(c->buf, c->buf + 1, 15))
			iwt_fail("atomic %u: the operation changed memory", i);
	}
}

/*
 * Uses addresses outside the process's region in Sends, Writes and Reads, with the kernel's key
 * and with the key of the region.
 */
void iwt_kernel_memory(void)
{
	static const uint64_t addr[] = {
		0, 4096, 0xffff888000001000ull, 0xffffffff81000000ull,
		0xffffffffffffff00ull, 0x60000000ull, 0x100000000ull,
	};
	static const uint8_t op[] = { IWT_WR_SEND, IWT_WR_WRITE, IWT_WR_READ };
	unsigned int i, j;

	for (i = 0; i < sizeof(addr) / sizeof(addr[0]) * 2; i++) {
		for (j = 0; j < sizeof(op); j++) {
			struct conn *c = iwt_dial(true);
			/* even @i: the kernel's key (0); odd @i: the key of the region */
			struct iwt_sge sge = { addr[i / 2], 64,
					       i % 2 ? c->mr->lkey : 0 };
			struct iwt_send_wqe w = {
				.wr_id = 300 + i, .opcode = op[j],
				.flags = IWT_WR_SIGNALED, .num_sge = 1,
				.remote_addr = c->peer.addr,
				.rkey = c->peer.rkey,
			};

			iwt_raw(c, &w, &sge, 1);
			must_fail(c, 300 + i, "kernel memory");
			rdma_disconnect(c->id);
		}
	}
}

/*
 * Like iwt_kernel_memory(), but the addresses and keys, or wrong numbers of elements, are in
 * receives. The peer answers every message, so the kernel uses these receives.
 */
void iwt_kernel_receives(void)
{
	static const struct { uint32_t num, lkey; uint64_t addr; } k[] = {
		{ 1, 0, 0xffff888000001000ull }, { 1, 0, 0x60000000ull },
		{ 1, 0xffffffff, 0 }, { 2, 0, 1 }, { 255, 0, 1 },
		{ 0x80000001, 0, 1 }, { 0xffffffff, 0, 1 },
	};
	unsigned int i, n;

	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
		struct conn *c = iwt_dial(true);
		struct ibv_wc wc;

		/* change the two receives that iwt_dial() has posted */
		for (n = 0; n < 2; n++) {
			uint32_t idx = iwt_ctl(&c->rq)->cons + n;
			struct iwt_recv_wqe *w = iwt_slot(&c->rq, idx, WRS * 4);
			struct iwt_sge *sge = (struct iwt_sge *)(w + 1);

			w->num_sge = k[i].num;
			*sge = (struct iwt_sge) { k[i].addr, 4096, k[i].lkey };
			/*
			 * in rows with a wrong number of elements, the first element is correct
			 */
			if (k[i].addr == 1)
				*sge = (struct iwt_sge) { (uintptr_t)c->buf,
							  4096, c->mr->lkey };
		}
		if (iwt_post(c, 1, IBV_WR_SEND, 0, 32))
			iwt_fail("SEND");
		for (n = 0; n < 3; n++) {
			if (!iwt_wait_wc(c, &wc))
				iwt_fail("no completion of a receive");
			if (wc.wr_id == MAGIC + 1)
				break;
		}
		if (wc.wr_id != MAGIC + 1 || wc.status == IBV_WC_SUCCESS)
			iwt_fail("receive %u: status %d", i, wc.status);
	}
}

void iwt_indices(void)
{
	static const uint32_t jump[] = { WRS + 1, WRS + 2, WRS * 2, 0x10000,
					 0x7fffffff, 0x80000000, 0xfffffff0 };
	unsigned int i, q;

	for (q = 0; q < 2; q++) {
		for (i = 0; i < sizeof(jump) / sizeof(jump[0]); i++) {
			struct conn *c = iwt_dial(true);
			struct ring *r = q ? &c->rq : &c->sq;
			uint32_t by = jump[i];

			if (q && by < WRS * 4)
				by += WRS * 4;
			iwt_ctl(r)->prod += by;
			iwt_ctl(r)->cons = iwt_rnd();
			iwt_doorbell(c);
			/* the kernel reads the index of a receive queue when a message arrives */
			if (q)
				iwt_post(c, 1, IBV_WR_SEND, 0, 8);
			must_be_in_error(c, q ? "receive index" : "send index");
		}
	}
}

/* Writes random values into all rings while the main thread works. */
static void *scribble(void *arg)
{
	struct conn *c = arg;
	struct ring *all[3] = { &c->sq, &c->rq, &c->scq };
	static const uint32_t edge[] = { 0, 1, WRS - 1, WRS, WRS + 1, 255, 256,
		0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0 };

	while (!c->stop) {
		struct ring *r = all[iwt_rnd() % 3];
		uint32_t *at = (uint32_t *)r->at;
		uint32_t v = iwt_rnd() % 2 ? iwt_rnd() : edge[iwt_rnd() % 11];

		switch (iwt_rnd() % 8) {
		case 0:
			iwt_ctl(r)->prod = v;
			break;
		case 1:
			iwt_ctl(r)->cons = v;
			break;
		case 2:
			iwt_ctl(r)->flags = v;
			break;
		case 3:
			iwt_ctl(r)->arm = v;
			break;
		case 4:
			iwt_ctl(r)->prod += iwt_rnd() % 4;
			break;
		default:
			at[iwt_rnd() % (r->len / 4)] = v;
			break;
		}
	}
	return NULL;
}

void iwt_fuzz(void)
{
	int round, i;

	for (round = 0; round < 25; round++) {
		struct conn *c = iwt_dial(true);
		pthread_t t;

		pthread_create(&t, NULL, scribble, c);
		for (i = 0; i < 400; i++) {
			/*
			 * call the kernel without the provider, because the random values would
			 * confuse the provider
			 */
			iwt_doorbell(c);
			if (i % 4 == 0)
				ibv_req_notify_cq(c->cq, i % 8 == 0);
		}
		c->stop = true;
		pthread_join(t, NULL);
		if (round % 2)
			rdma_disconnect(c->id);
	}
}

/* A thread that changes fields of correct work requests while the kernel processes them. */
static void *flip(void *arg)
{
	struct conn *c = arg;

	while (!c->stop) {
		struct iwt_send_wqe *w = iwt_slot(&c->sq, iwt_rnd(), WRS);
		struct iwt_sge *sge = (struct iwt_sge *)(w + 1);

		w->num_sge = iwt_rnd() % 2 ? 1 : 255;
		w->inline_len = iwt_rnd() % 2 ? 16 : 0xffffffff;
		w->flags ^= iwt_rnd() % 2 ? IWT_WR_INLINE : 0;
		sge->length = iwt_rnd() % 2 ? 16 : 0xfffffff0;
		sge->lkey = iwt_rnd() % 2 ? c->mr->lkey : 0;
		w->opcode = iwt_rnd() % 14;
	}
	return NULL;
}

void iwt_races(void)
{
	int round, i;

	for (round = 0; round < 25; round++) {
		struct conn *c = iwt_dial(true);
		pthread_t t;

		pthread_create(&t, NULL, flip, c);
		for (i = 0; i < 300; i++) {
			struct iwt_sge sge = { (uintptr_t)c->buf, 16, c->mr->lkey };
			struct iwt_send_wqe w = {
				.wr_id = i, .num_sge = 1,
				.opcode = i % 16 < 4 ? IWT_WR_WRITE_WITH_IMM + i % 4 : i % 4,
				.flags = IWT_WR_SIGNALED,
				.remote_addr = c->peer.addr,
				.rkey = c->peer.rkey,
			};

			iwt_raw(c, &w, &sge, 1);
		}
		c->stop = true;
		pthread_join(t, NULL);
	}
}
