// SPDX-License-Identifier: GPL-2.0
/* Cuts octets into pieces, and makes cursors over them (see pieces.h). */
#include "pieces.h"

#include <stdlib.h>
#include <string.h>

static void add(struct pieces *p, const u8 *from, u32 len)
{
	u8 *copy;

	if (!len)
		return;
	copy = malloc(len);
	if (!copy || p->count == PIECES_MAX)
		abort();
	memcpy(copy, from, len);
	p->p[p->count] = copy;
	p->len[p->count++] = len;
}

void pieces_cut(struct pieces *p, const u8 *from, u32 len, const u32 *cuts,
		u32 count)
{
	u32 at = 0, i, to;

	p->count = 0;
	for (i = 0; i <= count; i++) {
		to = i < count && cuts[i] < len ? cuts[i] : len;
		if (to < at)
			abort();
		add(p, from + at, to - at);
		at = to;
	}
}

void pieces_free(struct pieces *p)
{
	while (p->count)
		free(p->p[--p->count]);
}

static bool more(struct iwt_cursor *c)
{
	struct pieces_cursor *pc = (struct pieces_cursor *)c;

	if (pc->next == pc->pieces->count)
		return false;
	c->p = pc->pieces->p[pc->next];
	c->len = pc->pieces->len[pc->next++];
	return true;
}

struct pieces_cursor pieces_start(const struct pieces *p)
{
	struct pieces_cursor pc = { .c.more = more, .pieces = p };

	if (p->count)
		more(&pc.c);
	return pc;
}
