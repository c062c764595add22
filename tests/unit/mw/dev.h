/* SPDX-License-Identifier: GPL-2.0 */
/* Stub of dev.h: the members of a device that mw.c uses, for the build in user space. */
#ifndef UNIT_DEV_H
#define UNIT_DEV_H

#include <linux/spinlock.h>

#define UNIT_STAGS	4	/* entries for regions and windows; entry 0 is not used */

struct iwt_dev {
	spinlock_t windows_lock;
	struct iwt_mr *mr[UNIT_STAGS];
};

#endif
