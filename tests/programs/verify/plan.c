// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: plans the operations of a batch, and the contents of memory before and after it.
 * Both sides compute the same plan from the same case.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "verify.h"

#define POISON 0xb5

static const uint32_t small_sizes[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65,
	127, 128, 129, 255, 256, 257, 511, 513, 1023, 1025 };
static const uint32_t page_sizes[] = { 4095, 4096, 4097, 8191, 8192, 8193, 12287, 16385 };
static const uint32_t k64_sizes[] = { 65535, 65536, 65537 };

/*
 * Stores in *@len the size with the index @n of a set, in bytes. Return: false if @n is too
 * large. The sets IWT_SZ_MSS and IWT_SZ_JUMBO include the payload of one TCP segment, with an MTU
 * of 1500 and of 9000 bytes.
 */
static bool size_of(uint32_t set, uint32_t n, uint32_t *len)
{
	switch (set) {
	case IWT_SZ_SMALL:
		if (n >= sizeof(small_sizes) / 4)
			return false;
		*len = small_sizes[n];
		return true;
	case IWT_SZ_MSS:
		*len = 1400 + n;
		return *len <= 1464;
	case IWT_SZ_JUMBO:
		*len = 8894 + 3 * n;
		return *len <= 8962;
	case IWT_SZ_PAGE:
		if (n >= sizeof(page_sizes) / 4)
			return false;
		*len = page_sizes[n];
		return true;
	case IWT_SZ_64K:
		if (n >= sizeof(k64_sizes) / 4)
			return false;
		*len = k64_sizes[n];
		return true;
	case IWT_SZ_1M:
		*len = 1 << 20;
		return n == 0;
	case IWT_SZ_64M:
		*len = 64 << 20;
		return n == 0;
	case IWT_SZ_DENSE:
		*len = 26000 + 700 * n;
		return *len <= 40000;
	}
	return false;
}

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return *s >> 33;
}

static uint64_t word(uint32_t msg, uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)(msg + 1) * 0xd6e8feb86659fd93ull;

	return x ^ x >> 31;
}

/* The bytes of the pattern do not depend on the byte order of a side. */
static uint64_t pattern_word(uint32_t msg, uint64_t i)
{
	return htole64(word(msg, i));
}

static uint8_t octet(uint32_t msg, uint64_t off)
{
	return word(msg, off >> 3) >> 8 * (off & 7);
}

void iwt_pattern(uint8_t *dst, uint32_t msg, uint64_t off, uint32_t len)
{
	while (len && (off & 7)) {
		*dst++ = octet(msg, off);
		off++;
		len--;
	}
	for (; len >= 8; dst += 8, off += 8, len -= 8) {
		uint64_t w = pattern_word(msg, off >> 3);

		memcpy(dst, &w, 8);
	}
	for (; len; len--, off++)
		*dst++ = octet(msg, off);
}

/* Return: offset of the first byte that differs, or @len */
static uint32_t pattern_diff(const uint8_t *p, uint32_t msg, uint64_t off, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		if (!((off + i) & 7) && len - i >= 8) {
			uint64_t w = pattern_word(msg, (off + i) >> 3), v;

			memcpy(&v, p + i, 8);
			if (v == w) {
				i += 7;
				continue;
			}
		}
		if (p[i] != octet(msg, off + i))
			return i;
	}
	return len;
}

void iwt_poison(uint8_t *dst, uint64_t len)
{
	memset(dst, POISON, len);
}

bool iwt_is_poison(const uint8_t *p, uint64_t len, uint64_t *where)
{
	uint64_t i;

	if (!len)
		return true;
	if (p[0] == POISON && !memcmp(p, p + 1, len - 1))
		return true;
	for (i = 0; i < len && p[i] == POISON; i++)
		;
	if (where)
		*where = i;
	return false;
}

/* Bytes of a short piece of split_dense(). A piece of this length is sent by reference. */
#define DENSE		1100

/*
 * Splits @len bytes into a long piece and IWT_MAX_PIECES - 1 short pieces. Each short piece lies in
 * two pages. If a sender refers to pages and its segments have 9000 bytes, the short pieces of a
 * segment need more references than the sender has left after the segments of the long piece.
 */
static void split_dense(struct iwt_buf *b, uint64_t *at, uint32_t len)
{
	uint32_t i;

	b->n = IWT_MAX_PIECES;
	*at += IWT_GUARD;
	for (i = 0; i < b->n; i++) {
		b->piece[i].off = *at;
		b->piece[i].len = i ? DENSE : len - (b->n - 1) * DENSE;
		/* the next border of a page but one is in the middle of the next piece */
		*at = (*at + b->piece[i].len + 2 * 4096 - 1) / 4096 * 4096 - DENSE / 2;
	}
}

/*
 * Splits @len bytes into up to @max pieces, with gaps between the pieces. Some pieces may be
 * empty, unless @tame. *@at: where free memory of the arena begins; @s: state of the random
 * numbers
 */
static void split(struct iwt_buf *b, uint64_t *at, uint32_t len, uint32_t max, bool tame,
		  uint64_t *s)
{
	uint32_t n = max > 1 ? 1 + rnd(s) % max : 1, i, left = len;

	if (tame && n > len)
		n = len ? len : 1;
	b->n = n;
	*at += IWT_GUARD + rnd(s) % 64;
	for (i = 0; i < n; i++) {
		uint32_t take = left;

		if (i + 1 < n)
			take = rnd(s) % 4 == 0 || !left ? 0 : rnd(s) % (left + 1);
		if (tame && i + 1 < n)
			take = 1 + rnd(s) % (left - (n - 1 - i));
		b->piece[i].off = *at;
		b->piece[i].len = take;
		left -= take;
		*at += take + (n > 1 ? 1 + rnd(s) % 40 : 0);
	}
}

static uint8_t pick_kind(uint32_t mask, uint64_t *s)
{
	uint32_t k;

	do {
		k = rnd(s) % IWT_KINDS;
	} while (!(mask & 1u << k));
	return k;
}

static uint32_t random_size(uint64_t *s, uint64_t max_size)
{
	static const uint32_t top[] = { 16, 256, 3000, 9000, 40000, 130000 };
	uint32_t t = top[rnd(s) % 6];

	if (t > max_size)
		t = max_size;
	return rnd(s) % (t + 1);
}

/* Return: the word in memory before an atomic operation (word_after(): after this operation) */
static uint64_t word_before(const struct iwt_op *op)
{
	return word(op->msg, 0);
}

uint64_t iwt_operand_of(const struct iwt_op *op)
{
	/* in one of three operations the addition carries through all bytes */
	return op->msg % 3 ? word(op->msg, 1) : 0 - word_before(op);
}

/* The comparison succeeds if the message number is odd. Else the values differ in one bit. */
uint64_t iwt_compare_of(const struct iwt_op *op)
{
	return word_before(op) ^ (op->msg % 2 ? 0 : 1ull << op->msg % 64);
}

static uint64_t word_after(const struct iwt_op *op)
{
	if (op->kind == IWT_FETCH_ADD)
		return word_before(op) + iwt_operand_of(op);
	return iwt_compare_of(op) == word_before(op) ? iwt_operand_of(op) : word_before(op);
}

/* Return: the immediate data of @op, in network byte order */
uint32_t iwt_imm_of(const struct iwt_op *op)
{
	return htobe32(0x01020304 ^ op->msg * 2654435761u);
}

static void make_op(struct iwt_plan *p, const struct iwt_case *k, uint32_t len, uint32_t max_sge,
		    uint32_t sge_rd, uint64_t *s)
{
	struct iwt_op *op = &p->op[p->n];
	uint32_t sge = k->sge < max_sge ? k->sge : max_sge;
	uint32_t loc_sge = sge;

	memset(op, 0, sizeof(*op));
	op->kind = pick_kind(k->ops, s);
	if (k->tame && op->kind == IWT_READ && !len)
		len = 1;
	if (iwt_is_atomic(op->kind))
		len = 8;
	if (op->kind == IWT_SEND_IMM)
		len = 0;
	op->len = len;
	op->msg = k->msg + p->n;
	/* set each allowed flag at random; if IWT_F_SIGNALED is not allowed, set it always */
	op->flags = rnd(s) & k->flags;
	if (!(k->flags & IWT_F_SIGNALED))
		op->flags |= IWT_F_SIGNALED;
	if (!iwt_takes_recv(op->kind))
		op->flags &= ~IWT_F_SOLICITED;
	if (iwt_is_fetch(op->kind) || len > k->max_inline)
		op->flags &= ~IWT_F_INLINE;
	if (op->kind == IWT_READ && loc_sge > sge_rd)
		loc_sge = sge_rd;
	if (iwt_is_atomic(op->kind))
		loc_sge = 1;
	/*
	 * with siw, completions may be in any order: wait for the completion of the Read itself
	 */
	if (k->tame && op->kind == IWT_READ)
		op->flags |= IWT_F_SIGNALED;
	if (k->sizes == IWT_SZ_DENSE && len && loc_sge == IWT_MAX_PIECES)
		split_dense(&op->loc, &p->loc_used, len);
	else
		split(&op->loc, &p->loc_used, len, loc_sge, k->tame, s);
	if (iwt_is_send(op->kind)) {
		op->rem.spare = rnd(s) % 3 ? 0 : rnd(s) % 100;
		if (k->tame && !len)
			op->rem.spare++;
		split(&op->rem, &p->rem_used, len, sge, k->tame, s);
		op->rem.piece[op->rem.n - 1].len += op->rem.spare;
		p->rem_used += op->rem.spare;
	} else {
		if (iwt_is_atomic(op->kind))
			p->rem_used += 64;
		split(&op->rem, &p->rem_used, len, 1, k->tame, s);
		if (iwt_is_atomic(op->kind))
			op->rem.piece[0].off &= ~7ull;
	}
	p->n++;
}

/*
 * Makes the plan of part k->part, and stores the number of parts in *@parts. @max_sge, @sge_rd:
 * the maximum number of elements of an ordinary buffer and of the sink of a Read. The last
 * operation is always an empty signaled Send: when the responder receives this Send, all data
 * before it have been placed. A responder may execute an atomic operation after it has delivered
 * a later Send (RFC 7306 5.4). Therefore the Send is fenced if there are atomic operations before
 * it.
 */
void iwt_plan_make(struct iwt_plan *p, const struct iwt_case *k, uint32_t max_sge,
		   uint32_t sge_rd, uint32_t *parts)
{
	uint64_t s = (uint64_t)k->seed << 20 ^ k->part;
	uint32_t i, len, per = IWT_MAX_OPS - 1, total = 0;
	struct iwt_case end = *k;

	p->n = 0;
	p->loc_used = p->rem_used = 0;
	if (k->sizes == IWT_SZ_RANDOM) {
		uint32_t n = 1 + rnd(&s) % per;

		for (i = 0; i < n; i++)
			make_op(p, k, random_size(&s, k->max_size), max_sge, sge_rd, &s);
		total = 1;
	} else {
		for (i = 0; size_of(k->sizes, i, &len); i++)
			if (len <= k->max_size && total++ / per == k->part)
				make_op(p, k, len, max_sge, sge_rd, &s);
		total = (total + per - 1) / per;
	}
	if (parts)
		*parts = total;
	end.ops = 1 << IWT_SEND;
	end.flags = 0;
	end.sge = 1;
	make_op(p, &end, 0, max_sge, sge_rd, &s);
	for (i = 0; i < p->n; i++)
		if (iwt_is_atomic(p->op[i].kind))
			p->op[p->n - 1].flags |= IWT_F_FENCE;
	p->loc_used += IWT_GUARD;
	p->rem_used += IWT_GUARD;
}

/* Are the data of @op in the memory of this side before the batch runs? */
static bool is_source(const struct iwt_op *op, bool requester)
{
	return requester != iwt_is_fetch(op->kind);
}

/* The word of an atomic operation is a number, in the byte order of the responder. */
static void fill_word(uint8_t *at, const struct iwt_op *op)
{
	uint64_t w = word_before(op);

	memcpy(at, &w, sizeof(w));
}

void iwt_fill(uint8_t *arena, const struct iwt_plan *p, bool requester)
{
	uint32_t i, j;

	iwt_poison(arena, requester ? p->loc_used : p->rem_used);
	for (i = 0; i < p->n; i++) {
		const struct iwt_op *op = &p->op[i];
		const struct iwt_buf *b = requester ? &op->loc : &op->rem;
		uint64_t off = 0;

		if (!is_source(op, requester))
			continue;
		if (iwt_is_atomic(op->kind)) {
			fill_word(arena + b->piece[0].off, op);
			continue;
		}
		for (j = 0; j < b->n; off += b->piece[j].len, j++)
			iwt_pattern(arena + b->piece[j].off, op->msg, off, b->piece[j].len);
	}
}

static int check_gap(const uint8_t *arena, uint64_t from, uint64_t to, uint32_t msg, char *err)
{
	uint64_t where = 0;

	if (iwt_is_poison(arena + from, to - from, &where))
		return 0;
	snprintf(err, IWT_ERRLEN, "octet %" PRIu64 " of the gap [%" PRIu64 ", %" PRIu64
		 ") near message %u was overwritten", where, from, to, msg);
	return -1;
}

/* The requester must have received the old word, the responder must have the new word. */
static int check_word(const uint8_t *at, const struct iwt_op *op, bool requester, char *err)
{
	uint64_t v, want = requester ? word_before(op) : word_after(op);

	memcpy(&v, at, sizeof(v));
	if (v == want)
		return 0;
	snprintf(err, IWT_ERRLEN, "message %u (op %u) left %#" PRIx64 " instead of %#" PRIx64,
		 op->msg, op->kind, v, want);
	return -1;
}

int iwt_check(const uint8_t *arena, const struct iwt_plan *p, bool requester, char *err)
{
	uint64_t at = 0;
	uint32_t i, j;

	for (i = 0; i < p->n; i++) {
		const struct iwt_op *op = &p->op[i];
		const struct iwt_buf *b = requester ? &op->loc : &op->rem;
		uint32_t off = 0;

		for (j = 0; j < b->n; j++) {
			const struct iwt_piece *pc = &b->piece[j];
			uint32_t len = pc->len, d;

			if (j + 1 == b->n)
				len -= b->spare;
			if (check_gap(arena, at, pc->off, op->msg, err))
				return -1;
			if (iwt_is_atomic(op->kind)) {
				if (check_word(arena + pc->off, op, requester, err))
					return -1;
				at = pc->off + len;
				continue;
			}
			d = pattern_diff(arena + pc->off, op->msg, off, len);
			if (d != len) {
				snprintf(err, IWT_ERRLEN,
					 "message %u (op %u, %u octets, piece %u of %u) differs at octet %u (%#x)",
					 op->msg, op->kind, op->len, j, b->n, off + d,
					 arena[pc->off + d]);
				return -1;
			}
			off += len;
			at = pc->off + len;
		}
	}
	return check_gap(arena, at, requester ? p->loc_used : p->rem_used, 0, err);
}
