// SPDX-License-Identifier: GPL-2.0
#include <linux/in.h>

static inline int probe(void)
{
	return IP_LOCAL_PORT_RANGE;
}
