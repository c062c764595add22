/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where numbers begin that are counted modulo 2^32, or up to a limit and then anew.
 *
 * No test counts that far. So a laboratory builds the driver with IWT_BEFORE_WRAP, and all
 * these numbers begin so much before their wrap (tests/vm/README, the laboratory "wrap"). Both
 * ends of a connection must be built in the same way, as the first message number is on the wire.
 */
#ifndef IWT_FIRST_H
#define IWT_FIRST_H

#include <linux/types.h>

#ifndef IWT_BEFORE_WRAP
#define IWT_BEFORE_WRAP		0
#endif

/* Indices of rings, and numbers that nobody else sees. */
#define IWT_FIRST		((u32)0 - IWT_BEFORE_WRAP)
/* Message numbers (RFC 5041 5.2). */
#define IWT_FIRST_MSN		((u32)1 - IWT_BEFORE_WRAP)
/* Positions in a stream: the distance is a multiple of that of two markers. */
#define IWT_FIRST_POS		((u32)0 - IWT_BEFORE_WRAP * 4096)
/* Numbers up to a limit. */
#define IWT_FIRST_UP_TO(max)	(IWT_BEFORE_WRAP ? (u32)(max) - IWT_BEFORE_WRAP : 0)

#endif
