/* SPDX-License-Identifier: GPL-2.0 */
/* Is an access to a region allowed? (RFC 5040 8, RFC 5042) Pure functions. */
#ifndef IWT_ACCESS_H
#define IWT_ACCESS_H

#include "wire.h"

/* Rights, as a region or a queue pair grants them. */
enum iwt_rights {
	IWT_LOCAL_WRITE		= 1 << 0,
	IWT_REMOTE_WRITE	= 1 << 1,
	IWT_REMOTE_READ		= 1 << 2,
	IWT_REMOTE_ATOMIC	= 1 << 3,
	IWT_LOCAL_READ		= 1 << 4,	/* regions grant this right, windows do not */
	IWT_BIND_WINDOWS	= 1 << 5,
};

/* Value of iwt_region.relaxed, see there. */
#define IWT_RELAXED	1

/*
 * The protection domain and the stream that access memory. The address of this structure
 * identifies the stream.
 */
struct iwt_party {
	const void *pd;	/* only compared, never dereferenced */
};

/* The attributes of a region or a window that iwt_access_check() uses. */
struct iwt_region {
	u64 base;	/* first tagged offset */
	u64 len;
	u32 rights;
	bool valid;
	/*
	 * The protection domain, or, for a window of type 2, the iwt_party of the stream that
	 * bound the window. The pointer is only compared, never dereferenced.
	 */
	const void *owner;
	/*
	 * Not 0: the consumer does not rely on the order of the peer's writes to the region. The
	 * registration sets IWT_RELAXED; rx_place.c replaces IWT_RELAXED with a number that no
	 * other registration of the device has.
	 */
	u32 relaxed;
};

enum iwt_access_verdict {
	IWT_ACCESS_OK,
	IWT_ACCESS_STAG,	/* no region has the STag, or the region is not valid */
	IWT_ACCESS_ASSOC,	/* the region belongs to another protection domain or stream */
	IWT_ACCESS_WRAP,	/* addr + len passes 2^64 */
	IWT_ACCESS_BOUNDS,
	IWT_ACCESS_RIGHTS,
	IWT_ACCESS_ABSENT,	/* allowed, but the pages must be faulted in first */
	IWT_ACCESS_FAILED,	/* allowed, but faulting in the pages failed */
};

/*
 * A special result of functions that return an error for a Terminate: there is no error, but
 * before the access, pages must be faulted in, or a receive must be posted (rx_wait.c).
 */
#define IWT_ERR_ABSENT	0x20000u

enum iwt_access_verdict iwt_access_check(const struct iwt_region *r,
					 const struct iwt_party *who,
					 u64 addr, u64 len, u32 need);
u64 iwt_access_room(const struct iwt_region *r, u64 addr);
u32 iwt_access_tagged_err(enum iwt_access_verdict v);
u32 iwt_access_read_err(enum iwt_access_verdict v);

#endif
