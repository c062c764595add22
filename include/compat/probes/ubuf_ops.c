// SPDX-License-Identifier: GPL-2.0
#include <linux/skbuff.h>

static inline void probe(struct ubuf_info *u, const struct ubuf_info_ops *ops)
{
	u->ops = ops;
}
