/* SPDX-License-Identifier: GPL-2.0 */
/* Invalidation of the STags of regions and windows. */
#ifndef IWT_MR_STAG_H
#define IWT_MR_STAG_H

#include <linux/types.h>

struct iwt_dev;
struct iwt_party;

u32 iwt_stag_invalidate(struct iwt_dev *dev, u32 stag,
			const struct iwt_party *party, bool remote);

#endif
