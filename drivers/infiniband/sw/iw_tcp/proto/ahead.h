/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placing ahead: FPDUs that have arrived behind octets that are missing (a gap), and that are
 * placed before the missing octets arrive (RFC 5044 A.3). Pure functions.
 */
#ifndef IWT_AHEAD_H
#define IWT_AHEAD_H

#include "fpdu.h"

/* Maximum number of runs that a stream remembers. */
#define IWT_AHEAD_RUNS	32

/**
 * struct iwt_ahead_run - FPDUs that were placed, one after the other, and not delivered yet
 * @begin: stream position of the first of these FPDUs, or of the marker in front of it
 * @end: stream position after the last of these FPDUs
 * @n: number of these FPDUs; all belong to the same message
 * @ulpdu_len: ULPDU_Length of each FPDU
 * @hdr: DDP header of the first of these FPDUs; the headers of the others differ only in TO
 * @place: identifies the memory into which the FPDUs were placed
 */
struct iwt_ahead_run {
	u32 begin;
	u32 end;
	u16 n;
	u16 ulpdu_len;
	u8 hdr[IWT_DDP_TAGGED_LEN];
	u64 place;
};

/**
 * struct iwt_ahead - record of the octets behind gaps
 * @scan: stream position up to which the octets behind gaps have been examined
 * @synced: an FPDU, or the marker in front of it, begins at @scan
 * @first: index of the first run in @run
 * @n: number of runs, in the order of their positions
 * @run: ring of runs
 */
struct iwt_ahead {
	u32 scan;
	bool synced;
	u8 first;
	u8 n;
	struct iwt_ahead_run run[IWT_AHEAD_RUNS];
};

/* Result of iwt_ahead_at() */
enum iwt_ahead_what {
	IWT_AHEAD_NONE,
	IWT_AHEAD_PLACED,	/* the FPDU at this position was placed */
	IWT_AHEAD_CONFLICT,	/* an FPDU that was placed begins before this position */
};

void iwt_ahead_start(struct iwt_ahead *a, u32 pos);
u32 iwt_ahead_find(const struct iwt_cursor *at, size_t cursor_size, u32 avail, u32 pos,
		   bool *found);
/* Is there room for another struct iwt_ahead_run? */
bool iwt_ahead_has_room(const struct iwt_ahead *a);
void iwt_ahead_add(struct iwt_ahead *a, const struct iwt_fpdu *f, u64 place);
enum iwt_ahead_what iwt_ahead_at(const struct iwt_ahead *a, u32 pos, struct iwt_fpdu *f,
				 u64 *place);
void iwt_ahead_pass(struct iwt_ahead *a);

#endif
