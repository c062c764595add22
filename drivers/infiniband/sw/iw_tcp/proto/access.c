// SPDX-License-Identifier: GPL-2.0
/* May this access touch that region? (RFC 5040 8, RFC 5042) */
#include "access.h"

/**
 * iwt_access_check() - judge one access
 * @r: the region or window that the STag or local key names, NULL if there is none
 * @who: in whose name
 * @addr: first tagged offset or address
 * @len: octets
 * @need: rights that the access needs, all of them
 *
 * The order is that of RFC 5041 7.1 with the rights last (RFC 5040 7.2). An access of no octets
 * is good without looking (RFC 5041 5.2, RFC 5040 5.2.1). A region may end at 2^64, so the last
 * octet is computed, not the end.
 *
 * Return: the verdict.
 */
enum iwt_access_verdict iwt_access_check(const struct iwt_region *r,
					 const struct iwt_party *who,
					 u64 addr, u64 len, u32 need)
{
	if (!len)
		return IWT_ACCESS_OK;
	if (!r || !r->valid)
		return IWT_ACCESS_STAG;
	if (r->owner != who->pd && r->owner != who)
		return IWT_ACCESS_ASSOC;
	if (addr + (len - 1) < addr)
		return IWT_ACCESS_WRAP;
	if (addr < r->base || addr - r->base > r->len ||
	    len > r->len - (addr - r->base))
		return IWT_ACCESS_BOUNDS;
	if ((r->rights & need) != need)
		return IWT_ACCESS_RIGHTS;
	return IWT_ACCESS_OK;
}

/**
 * iwt_access_room() - octets from an address on to the end of a region
 * @r: region
 * @addr: an octet of it, to which iwt_access_check() has allowed an access
 *
 * An access to all of them passes the same check.
 *
 * Return: octets.
 */
u64 iwt_access_room(const struct iwt_region *r, u64 addr)
{
	return r->len - (addr - r->base);
}

/**
 * iwt_access_tagged_err() - the error for a refused Write or Read Response
 * @v: verdict of iwt_access_check()
 *
 * DDP has no code for a missing right; RDMAP's is used.
 *
 * Return: what a Terminate is to say (RFC 5041 7.2), IWT_OK for IWT_ACCESS_OK.
 */
u32 iwt_access_tagged_err(enum iwt_access_verdict v)
{
	switch (v) {
	case IWT_ACCESS_OK:
		return IWT_OK;
	case IWT_ACCESS_STAG:
		return IWT_ERR_TAG_STAG;
	case IWT_ACCESS_ASSOC:
		return IWT_ERR_TAG_ASSOC;
	case IWT_ACCESS_WRAP:
		return IWT_ERR_TAG_WRAP;
	case IWT_ACCESS_BOUNDS:
		return IWT_ERR_TAG_BOUNDS;
	case IWT_ACCESS_RIGHTS:
		return IWT_ERR_PROT_ACCESS;
	case IWT_ACCESS_ABSENT:
		return IWT_ERR_ABSENT;
	case IWT_ACCESS_FAILED:
		break;
	}
	return IWT_ERR_DDP_LOCAL;
}

/**
 * iwt_access_read_err() - the error for a refused Read Request
 * @v: verdict of iwt_access_check()
 *
 * Return: what a Terminate is to say (RFC 5040 4.8), IWT_OK for IWT_ACCESS_OK.
 */
u32 iwt_access_read_err(enum iwt_access_verdict v)
{
	switch (v) {
	case IWT_ACCESS_OK:
		return IWT_OK;
	case IWT_ACCESS_STAG:
		return IWT_ERR_PROT_STAG;
	case IWT_ACCESS_ASSOC:
		return IWT_ERR_PROT_ASSOC;
	case IWT_ACCESS_WRAP:
		return IWT_ERR_PROT_WRAP;
	case IWT_ACCESS_BOUNDS:
		return IWT_ERR_PROT_BOUNDS;
	case IWT_ACCESS_RIGHTS:
		return IWT_ERR_PROT_ACCESS;
	case IWT_ACCESS_ABSENT:
		return IWT_ERR_ABSENT;
	case IWT_ACCESS_FAILED:
		break;
	}
	return IWT_ERR_LOCAL;
}
