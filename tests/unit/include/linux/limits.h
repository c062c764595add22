/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/limits.h>

#ifndef U32_MAX
#define U32_MAX	(~0U)
#endif
