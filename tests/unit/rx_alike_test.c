// SPDX-License-Identifier: GPL-2.0
/*
 * Checks rx_alike.c, which consumes several segments of a message together: it must consume only
 * segments whose payload fits in the buffer, and must check each header only once.
 */
#include <stdlib.h>

#include <linux/unaligned.h>

#define UNIT_COUNTS
#include "rx/rx_priv.h"

#include "frame.h"
#include "unit.h"

#define BASE	0x10000u	/* tagged offset of the region's first byte */
#define STAG	0x1234500u
#define SEGS	600		/* segments of a stream */
#define MEMORY	(SEGS * 8)

enum kind { WRITE, SEND, RESPONSE };

static const int pd;
static u32 looks;	/* number of headers that were checked */
u64 asked_end;
static u8 memory[MEMORY], model[MEMORY];

u32 counted_alike(const struct iwt_cursor *at, u32 avail, u32 most, const struct iwt_fpdu *f)
{
	u32 n = iwt_fpdu_alike(at, avail, most, f);

	looks += min(n + 1, most);
	return n;
}

/* A stream, the memory that its data go to, and the bytes in transit */
struct world {
	enum kind kind;
	u32 size;	/* payload of each segment */
	u32 room;	/* total number of bytes that may be placed */
	u32 first;	/* message offset of the first byte of a Send */
	struct iwt_stream st;
	struct iwt_mr mr;
	struct iwt_rwqe recv;
	u8 *octets, *payload;
	u32 len;
};

/* Makes the ULPDU of a segment, which may be smaller than the segments that txseg.c makes. */
static u32 make_ulpdu(const struct world *w, u32 at, u8 *to)
{
	static const u8 opcodes[] = { IWT_OP_WRITE, IWT_OP_SEND, IWT_OP_READ_RESP };
	u32 head = w->kind == SEND ? IWT_DDP_UNTAGGED_LEN : IWT_DDP_TAGGED_LEN;

	memset(to, 0, head);
	to[0] = (w->kind == SEND ? 0 : IWT_DDP_TAGGED) | 1;
	to[1] = 1 << 6 | opcodes[w->kind];
	if (w->kind == SEND) {
		to[13] = 1;	/* MSN */
		put_unaligned_be32(w->first + at, to + 14);
	} else {
		put_unaligned_be32(STAG, to + 2);
		put_unaligned_be64(BASE + at, to + 6);
	}
	memcpy(to + head, w->payload + at, w->size);
	return head + w->size;
}

static void make_octets(struct world *w, bool crc)
{
	struct frame_rules rules = { .crc = crc };
	u8 ulpdu[64];
	u32 i, n;

	w->octets = malloc(SEGS * (w->size + 32));
	w->payload = malloc(SEGS * w->size);
	for (i = 0; i < SEGS * w->size; i++)
		w->payload[i] = any();
	for (i = 0, w->len = 0; i < SEGS; i++) {
		n = make_ulpdu(w, i * w->size, ulpdu);
		w->len += frame_ulpdu(ulpdu, n, &rules, w->octets + w->len);
	}
}

/* @sges: number of elements of the receive. Each has the length @room / @sges */
static void make(struct world *w, enum kind kind, u32 size, u32 room, u32 sges, bool kernel, bool crc)
{
	u32 i;

	w->kind = kind;
	w->size = size;
	w->room = room;
	make_octets(w, crc);
	w->mr = (struct iwt_mr){
		.stag = STAG, .octets = memory, .present = MEMORY,
		.region = { .base = BASE, .len = kind == WRITE ? room : MEMORY, .valid = true,
			    .rights = IWT_REMOTE_WRITE | IWT_LOCAL_WRITE, .owner = &pd },
	};
	w->recv = (struct iwt_rwqe){ .len = room, .num_sge = sges };
	for (i = 0; i < sges; i++)
		w->recv.sge[i] = (struct iwt_sge){
			.addr = (kernel ? (uintptr_t)memory : BASE) + i * (room / sges),
			.length = room / sges, .lkey = kernel ? 0 : STAG,
		};
	w->st.actor = (struct iwt_actor){ .party = { &pd }, .kernel = kernel };
	w->st.receiver = w->st.actor;
	w->st.rx.rules.crc = crc;
	w->st.rx.recv = &w->recv;
	w->st.rx.recv_open = kind == SEND;
	w->st.rx.hold.mr = kernel ? NULL : &w->mr;
	w->st.readq.out.sink = (struct iwt_sge){
		.addr = kernel ? (uintptr_t)memory : BASE, .length = room, .lkey = kernel ? 0 : STAG,
	};
	memset(memory, 0xa5, sizeof(memory));
	memset(model, 0xa5, sizeof(model));
	looks = 0;
}

/* Places segment @n as rx_tagged.c and rx_untagged.c do. Return: false if it does not fit */
static bool place_one(struct world *w, u32 n)
{
	struct iwt_sgl_pos *pos = &w->st.rx.recv_pos;
	u32 at = n * w->size, len;

	if (at + w->size > w->room)
		return false;
	memcpy(memory + at, w->payload + at, w->size);
	w->st.readq.out.got += w->kind == RESPONSE ? w->size : 0;
	for (len = w->kind == SEND ? w->size : 0; len; len--) {
		while (pos->off == w->recv.sge[pos->i].length) {
			pos->i++;
			pos->off = 0;
		}
		pos->off++;
	}
	return true;
}

/* Consumes segments as take_fpdus() of rx.c does. Return: number of consumed segments */
static u32 take(struct world *w)
{
	struct iwt_cursor c = { .p = w->octets, .len = w->len };
	struct iwt_fpdu f = {};
	u32 n = 0, more, err;

	while (c.len) {
		asked_end = 0;
		more = iwt_rx_alike(&w->st, &f, &c, c.len);
		CHECK(asked_end <= BASE + (n + more) * w->size);
		if (!more) {
			if (!iwt_fpdu_follows(&c, c.len, &w->st.rx.rules, &f) &&
			    iwt_fpdu_read(&c, sizeof(c), c.len, 0, &w->st.rx.rules, &f, &err) != IWT_FPDU_OK)
				break;
			if (!place_one(w, n))
				break;
			more = 1;
		}
		n += more;
		CHECK(iwt_cursor_skip(&c, more * f.size));
	}
	return n;
}

static void check(enum kind kind, u32 size, u32 room, u32 sges, bool kernel, bool crc)
{
	u32 fit = min_t(u32, room / size, SEGS);
	struct world w = {};

	make(&w, kind, size, room, sges, kernel, crc);
	tap_about("kind %u size %u room %u elements %u kernel %u crc %u", kind, size, room, sges,
		  kernel, crc);
	CHECK_EQ(take(&w), fit);
	memcpy(model, w.payload, fit * size);
	CHECK(!memcmp(memory, model, sizeof(memory)));
	/* only the header of the first segment that does not fit may be checked in addition */
	CHECK(looks <= fit + 1);
	free(w.octets);
	free(w.payload);
}

static void test_room(enum kind kind, const char *name)
{
	u32 size, cut;

	tap_begin("rx_alike: a %s fills its buffer, each segment is checked once", name);
	for (size = 1; size <= 8; size++) {
		for (cut = 0; cut < 3 * size; cut++) {
			check(kind, size, SEGS * size - cut, 1, false, cut & 1);
			if (kind != WRITE)
				check(kind, size, SEGS * size - cut, 1, true, cut & 1);
		}
		check(kind, size, 100 * size + 1, 1, false, false);
	}
	tap_end();
}

static void test_elements(void)
{
	u32 size, sges;

	tap_begin("rx_alike: a Send to many elements, each segment is checked once");
	for (size = 1; size <= 8; size++)
		for (sges = 2; sges <= 16; sges++) {
			check(SEND, size, SEGS * size / sges * sges, sges, false, size & 1);
			check(SEND, size, SEGS * size / sges * sges, sges, true, size & 1);
		}
	tap_end();
}

/* Places the last bytes of a Send of the maximum length into a receive that is longer. */
static void test_longest(void)
{
	u32 size, left;

	tap_begin("rx_alike: a Send is placed up to the maximum length of a message");
	for (size = 1; size <= 8; size++)
		for (left = 2 * size; left < 5 * size; left++) {
			struct world w = { .first = U32_MAX - left };

			make(&w, SEND, size, MEMORY, 1, false, false);
			w.room = left;
			w.recv.len = 1ull << 33;
			tap_about("size %u, %u octets left", size, left);
			CHECK_EQ(take(&w), left / size);
			free(w.octets);
			free(w.payload);
		}
	tap_end();
}

/*
 * One call consumes all segments after the first segment. The memory belongs to a process for a
 * Write, and to the kernel for a Send and a Read Response.
 */
static void test_together(void)
{
	struct iwt_cursor c;
	struct iwt_fpdu f;
	struct world w = {};
	u32 kind, err;

	tap_begin("rx_alike: one call takes all segments of a message after the first");
	for (kind = WRITE; kind <= RESPONSE; kind++) {
		w = (struct world){};
		make(&w, kind, 8, MEMORY, 1, kind != WRITE, true);
		c = (struct iwt_cursor){ .p = w.octets, .len = w.len };
		CHECK_EQ(iwt_fpdu_read(&c, sizeof(c), c.len, 0, &w.st.rx.rules, &f, &err), IWT_FPDU_OK);
		CHECK(place_one(&w, 0));
		CHECK(iwt_cursor_skip(&c, f.size));
		CHECK_EQ(iwt_rx_alike(&w.st, &f, &c, c.len), SEGS - 1);
		free(w.octets);
		free(w.payload);
	}
	tap_end();
}

/* If no Send is being received, the elements of the former receive are no destination. */
static void test_closed(void)
{
	struct iwt_cursor c;
	struct iwt_fpdu f;
	struct world w = {};
	u32 open, err;

	tap_begin("rx_alike: only the receive of the present Send is a destination");
	for (open = 0; open < 2; open++) {
		w = (struct world){};
		make(&w, SEND, 8, MEMORY, 1, false, true);
		w.st.rx.recv_open = open;
		c = (struct iwt_cursor){ .p = w.octets, .len = w.len };
		CHECK_EQ(iwt_fpdu_read(&c, sizeof(c), c.len, 0, &w.st.rx.rules, &f, &err), IWT_FPDU_OK);
		CHECK(iwt_cursor_skip(&c, f.size));
		CHECK_EQ(iwt_rx_alike(&w.st, &f, &c, c.len), open ? SEGS - 1 : 0);
		CHECK_EQ(!memcmp(memory, w.payload + 8, 8), open);
		free(w.octets);
		free(w.payload);
	}
	tap_end();
}

void test_rx_alike(void)
{
	test_room(WRITE, "Write");
	test_room(SEND, "Send");
	test_room(RESPONSE, "Read Response");
	test_elements();
	test_longest();
	test_together();
	test_closed();
}
