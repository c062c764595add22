// SPDX-License-Identifier: GPL-2.0
/* Invalidation of the STags of regions and windows. */
#include "mr_stag.h"

#include "mr.h"
#include "mw.h"

/**
 * iwt_stag_invalidate() - make an STag invalid, keep its region or window
 * @dev: device
 * @stag: STag; its key is ignored if a consumer invalidates an STag that is not valid
 * @party: PD and stream for which the STag is invalidated
 * @remote: true if the peer invalidates the STag (Send with Invalidate, RFC 5040 5.3), false if a
 *	consumer does
 *
 * Regions for fast registration and windows of type 2 can be invalidated. Waits for engines
 * that copy; never sleeps.
 *
 * Return: IWT_OK; or, if @remote, the error for a Terminate (RFC 5040 4.8), otherwise
 * IWT_ERR_LOCAL.
 */
u32 iwt_stag_invalidate(struct iwt_dev *dev, u32 stag,
			const struct iwt_party *party, bool remote)
{
	struct iwt_mr *mr = iwt_mr_get_for_change(dev, stag);
	u32 err;

	if (!mr)
		return remote ? IWT_ERR_OP_INVAL : IWT_ERR_LOCAL;
	if (mr->kind == IWT_MR_WINDOW)
		err = iwt_mw_invalidate(mr, stag, party, remote);
	else
		err = iwt_mr_invalidate(mr, stag, party, remote);
	iwt_mr_put_changed(mr);
	return err;
}
