/* SPDX-License-Identifier: GPL-2.0 */
/* A log message about processes that need more locked memory than RLIMIT_MEMLOCK allows. */
#ifndef IWT_MEMLOCK_H
#define IWT_MEMLOCK_H

#include <linux/types.h>

struct iwt_dev;

/* Process context. iwt_memlock_unlimited(): may the calling process lock any amount of memory? */
bool iwt_memlock_unlimited(void);
unsigned long iwt_memlock_limit(void);
bool iwt_memlock_exceeded(u64 start, u64 len);
void iwt_memlock_refused(struct iwt_dev *dev);

#endif
