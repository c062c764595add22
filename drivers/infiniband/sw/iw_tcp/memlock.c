// SPDX-License-Identifier: GPL-2.0
/*
 * Programs exceed the limit RLIMIT_MEMLOCK more often than any other limit, and then print only
 * "Cannot allocate memory" (ENOMEM). So this file writes a message about RLIMIT_MEMLOCK to the
 * kernel's log.
 */
#include "memlock.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/ratelimit.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "dev.h"

/* May the calling process lock memory without a limit? Process context. */
bool iwt_memlock_unlimited(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK);
}

/**
 * iwt_memlock_limit() - the limit RLIMIT_MEMLOCK of the calling process
 *
 * The limit does not apply if iwt_memlock_unlimited() returns true. Process context.
 *
 * Return: the limit in pages.
 */
unsigned long iwt_memlock_limit(void)
{
	return rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
}

/**
 * iwt_memlock_refused() - log that the calling process may not lock more memory
 * @dev: device; the rate of these messages is limited for each device
 *
 * A process can choose any name, so the message escapes characters that are not printable.
 * Process context.
 */
void iwt_memlock_refused(struct iwt_dev *dev)
{
	char name[TASK_COMM_LEN];

	if (!__ratelimit(&dev->memlock_said))
		return;
	get_task_comm(name, current);
	ibdev_warn(&dev->ibdev,
		   "%*pE (pid %d) may lock %lu KiB of memory, and needs more: RLIMIT_MEMLOCK\n",
		   (int)strlen(name), name, task_pid_nr(current), rlimit(RLIMIT_MEMLOCK) / SZ_1K);
}

/**
 * iwt_memlock_exceeded() - would the calling process exceed RLIMIT_MEMLOCK?
 * @start: address of memory in the calling process
 * @len: length in bytes; @start + @len must not wrap
 *
 * Process context.
 *
 * Return: true if the process may not pin this memory in addition to the memory that it has
 * pinned.
 */
bool iwt_memlock_exceeded(u64 start, u64 len)
{
	unsigned long pages = (PAGE_ALIGN(start + len) - (start & PAGE_MASK)) >> PAGE_SHIFT;

	return !iwt_memlock_unlimited() &&
	       atomic64_read(&current->mm->pinned_vm) + pages > iwt_memlock_limit();
}
