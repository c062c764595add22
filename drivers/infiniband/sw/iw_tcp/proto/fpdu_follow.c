// SPDX-License-Identifier: GPL-2.0
/* Predicting the headers of an FPDU from the FPDU before it. */
#include "fpdu.h"

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/*
 * Offsets of TO and MO in the DDP header. TO or MO is the last field of the header, and
 * determines the place of the payload.
 */
#define IWT_DDP_TO		(IWT_DDP_TAGGED_LEN - 8)
#define IWT_DDP_MO		(IWT_DDP_UNTAGGED_LEN - 4)
/*
 * Number of octets from the beginning of an FPDU to TO or MO. Usually these octets are the same
 * in all segments of a message except the last segment.
 */
#define TAGGED_START	(IWT_FPDU_LEN_LEN + IWT_DDP_TO)
#define UNTAGGED_START	(IWT_FPDU_LEN_LEN + IWT_DDP_MO)

static void fpdu_start(const struct iwt_fpdu *f, u8 *start)
{
	put_unaligned_be16(f->ulpdu_len, start);
	memcpy(start + IWT_FPDU_LEN_LEN, f->hdr, IWT_DDP_MO);
}

/*
 * Does the FPDU at @p continue the message of @f? Then it begins with the octets @start, and its
 * TO or MO is greater by @by than the TO or MO of @f. The function reads each octet once, and
 * stores nothing. It is inline because this check is most of the work for the segments of a long
 * message.
 */
static __always_inline bool fpdu_continues(const struct iwt_fpdu *f, const u8 *start,
					   const u8 *p, u32 by)
{
	if (f->ddp.tagged)
		return !memcmp(p, start, TAGGED_START) &&
		       get_unaligned_be64(p + TAGGED_START) == f->ddp.to + by;
	return !memcmp(p, start, UNTAGGED_START) &&
	       get_unaligned_be32(p + UNTAGGED_START) == f->ddp.mo + by;
}

/* Make @f describe the @n-th FPDU after the FPDU @f; all @n FPDUs continue the message of @f. */
static void fpdu_step(struct iwt_fpdu *f, u32 n)
{
	if (f->ddp.tagged) {
		f->ddp.to += (u64)n * f->payload_len;
		put_unaligned_be64(f->ddp.to, f->hdr + IWT_DDP_TO);
	} else {
		f->ddp.mo += n * f->payload_len;
		put_unaligned_be32(f->ddp.mo, f->hdr + IWT_DDP_MO);
	}
	f->pos += n * f->size;
	f->walked = 0;
	f->follows = true;
}

/* Can the headers of the next FPDU be predicted from the headers of @f? */
static bool fpdu_predicts(const struct iwt_fpdu *f)
{
	return f->size && !f->ddp.last &&
	       f->hdr_len == (f->ddp.tagged ? IWT_DDP_TAGGED_LEN : IWT_DDP_UNTAGGED_LEN);
}

/**
 * iwt_fpdu_follows_marked() - iwt_fpdu_follows() in a stream with markers
 * @at: as for iwt_fpdu_follows()
 * @avail: as for iwt_fpdu_follows()
 * @rules: as for iwt_fpdu_follows()
 * @f: as for iwt_fpdu_follows()
 *
 * The next FPDU must be contiguous, and no marker may divide its headers. Its number of markers,
 * and so its size, may differ from that of @f. Any context.
 *
 * Return: as iwt_fpdu_follows().
 */
bool iwt_fpdu_follows_marked(const struct iwt_cursor *at, u32 avail,
			     const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f)
{
	u32 pos = f->pos + f->size;
	u32 front = iwt_fpdu_front(pos), size;
	u8 start[UNTAGGED_START];

	if (!fpdu_predicts(f) ||
	    iwt_fpdu_to_marker(pos + front) < IWT_FPDU_LEN_LEN + f->hdr_len)
		return false;
	size = iwt_fpdu_size(f->ulpdu_len, pos, true);
	if (min(at->len, avail) < size)
		return false;
	fpdu_start(f, start);
	if (!fpdu_continues(f, start, at->p + front, f->payload_len) ||
	    !iwt_fpdu_crc_holds(at->p, size, rules) ||
	    !iwt_fpdu_markers_hold(at->p, size, pos))
		return false;
	fpdu_step(f, 1);
	f->size = size;
	f->marked = true;
	return true;
}

/**
 * iwt_fpdu_goes_on() - can the headers of several FPDUs after @f be predicted together?
 * @f: the last FPDU, as iwt_fpdu_read() or iwt_fpdu_follows() set it on success, or zeroed
 * @rules: negotiated properties of this direction
 *
 * The headers of Writes, Read Responses and Sends can be predicted, because they consist of the
 * DDP header alone. In a stream with markers, the FPDUs of a message have different sizes, and
 * iwt_fpdu_follows() predicts one FPDU after the other.
 *
 * Return: true if the message of @f continues and the headers of its next segments can be
 * predicted.
 */
bool iwt_fpdu_goes_on(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules)
{
	return !rules->markers && fpdu_predicts(f);
}

/**
 * iwt_fpdu_follows_plain() - iwt_fpdu_follows() in a stream without markers
 * @at: as for iwt_fpdu_follows()
 * @avail: as for iwt_fpdu_follows()
 * @rules: as for iwt_fpdu_follows()
 * @f: as for iwt_fpdu_follows()
 *
 * Any context.
 *
 * Return: as iwt_fpdu_follows().
 */
bool iwt_fpdu_follows_plain(const struct iwt_cursor *at, u32 avail,
			    const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f)
{
	bool flat = at->len >= f->size;
	u8 start[UNTAGGED_START];

	if (!fpdu_predicts(f) || avail < f->size)
		return false;
	/* without CRC only the headers must be contiguous */
	if (!flat && (rules->crc || at->len < IWT_FPDU_LEN_LEN + f->hdr_len))
		return false;
	fpdu_start(f, start);
	if (!fpdu_continues(f, start, at->p, f->payload_len) ||
	    (flat && !iwt_fpdu_crc_holds(at->p, f->size, rules)))
		return false;
	fpdu_step(f, 1);
	f->flat = flat ? at->p + IWT_FPDU_LEN_LEN + f->hdr_len : NULL;
	return true;
}

/**
 * iwt_fpdu_alike() - count the next FPDUs that have the predicted headers
 * @at: position of the first octet of the first of these FPDUs; not moved
 * @avail: number of octets of the stream received from @at on
 * @most: maximum number of FPDUs to examine. The caller passes the number that it can consume:
 *	the peer decides how many FPDUs arrive, and FPDUs that are not consumed are examined again
 * @f: the FPDU before these FPDUs, for which iwt_fpdu_goes_on() returns true; not changed
 *
 * All counted FPDUs are complete in the piece at @at, one after the other. Only their headers
 * have been checked: for each FPDU, the caller must call iwt_fpdu_crc_holds() before it uses the
 * payload. The headers are not read again, so a sender on this machine may change the headers
 * without effect.
 *
 * Return: the number of FPDUs. For the FPDU after them, call iwt_fpdu_follows() or
 * iwt_fpdu_read().
 */
u32 iwt_fpdu_alike(const struct iwt_cursor *at, u32 avail, u32 most, const struct iwt_fpdu *f)
{
	u32 n = min(min(at->len, avail) / f->size, most), i;
	u8 start[UNTAGGED_START];
	const u8 *p = at->p;

	fpdu_start(f, start);
	for (i = 0; i < n; i++, p += f->size) {
		if (!fpdu_continues(f, start, p, (i + 1) * f->payload_len))
			break;
	}
	return i;
}

/**
 * iwt_fpdu_pass() - advance past FPDUs that iwt_fpdu_alike() has counted
 * @f: the FPDU before the counted FPDUs; set to the last of the @n FPDUs
 * @at: position of the first counted FPDU; not moved
 * @n: number of FPDUs to pass: at least 1, at most the counted number
 */
void iwt_fpdu_pass(struct iwt_fpdu *f, const struct iwt_cursor *at, u32 n)
{
	fpdu_step(f, n);
	f->flat = at->p + (n - 1) * f->size + IWT_FPDU_LEN_LEN + f->hdr_len;
}
