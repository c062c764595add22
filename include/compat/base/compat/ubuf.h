/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_UBUF_H
#define COMPAT_UBUF_H

#include <linux/skbuff.h>

static inline void compat_ubuf_init(struct ubuf_info *u,
				    const struct ubuf_info_ops *ops)
{
	u->ops = ops;
}

#endif
