// SPDX-License-Identifier: GPL-2.0
/* Is an access to a region allowed? (RFC 5040 8, RFC 5042) */
#include "access.h"

/**
 * iwt_access_check() - decide whether an access is allowed
 * @r: the region or window to which the STag or local key belongs, or NULL if there is none
 * @who: PD and stream that access the memory
 * @addr: first tagged offset or address
 * @len: octets
 * @need: all rights that the access requires
 *
 * The checks are those of RFC 5041 7.1 and RFC 5040 7.2, and the check of the rights is the last.
 * An access that wraps is also out of bounds, so the check for a wrap precedes the check of the
 * bounds. An access of zero octets is allowed without any check (RFC 5041 5.2, RFC 5040 5.2.1). A
 * region may end at 2^64, so the check computes the address of the last octet, not the end
 * address.
 *
 * Return: IWT_ACCESS_OK, or the reason why the access is refused.
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
 * iwt_access_room() - number of octets from an address to the end of its region
 * @r: region
 * @addr: address in the region for which iwt_access_check() returned IWT_ACCESS_OK
 *
 * iwt_access_check() with the same rights allows an access to all of these octets.
 *
 * Return: octets.
 */
u64 iwt_access_room(const struct iwt_region *r, u64 addr)
{
	return r->len - (addr - r->base);
}

/**
 * iwt_access_tagged_err() - the error for a refused Write or Read Response
 * @v: result of iwt_access_check() or of the lookup of the pages
 *
 * DDP has no error code for a missing right; the code of RDMAP is used.
 *
 * Return: error for the Terminate (RFC 5041 7.2); IWT_OK for IWT_ACCESS_OK; IWT_ERR_ABSENT for
 * IWT_ACCESS_ABSENT.
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
 * iwt_access_read_err() - the error for a refused Read or Atomic Request
 * @v: result of iwt_access_check() or of the lookup of the pages
 *
 * Return: error for the Terminate (RFC 5040 4.8); IWT_OK for IWT_ACCESS_OK; IWT_ERR_ABSENT for
 * IWT_ACCESS_ABSENT.
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
