/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Initial values of counters that wrap at 2^32 or at another limit.
 *
 * No test runs long enough to reach the wrap. So one laboratory builds the driver with
 * IWT_BEFORE_WRAP set to a number, and each of these counters starts this number of steps before
 * its wrap (tests/vm/README, the laboratory "wrap"). Both ends of a connection must use the same
 * value, because the first message number is visible on the wire.
 */
#ifndef IWT_FIRST_H
#define IWT_FIRST_H

#include <linux/types.h>

#ifndef IWT_BEFORE_WRAP
#define IWT_BEFORE_WRAP		0
#endif

/* Indices of rings, and numbers that are used only inside the driver. */
#define IWT_FIRST		((u32)0 - IWT_BEFORE_WRAP)
/* Message sequence numbers, which begin at 1 (RFC 5041 4.3). */
#define IWT_FIRST_MSN		((u32)1 - IWT_BEFORE_WRAP)
/* Positions in a stream. The first position must be a multiple of the marker spacing. */
#define IWT_FIRST_POS		((u32)0 - IWT_BEFORE_WRAP * 4096)
/* An index that is not later than @idx, but will look later when @idx has advanced. */
#define IWT_FIRST_BEHIND(idx)	((idx) - (IWT_BEFORE_WRAP ? 0x80000000u - IWT_BEFORE_WRAP : 0))
/* Counters that begin at 0 and wrap at the limit max. */
#define IWT_FIRST_UP_TO(max)	(IWT_BEFORE_WRAP ? (u32)(max) - IWT_BEFORE_WRAP : 0)

#endif
