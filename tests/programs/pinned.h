/* SPDX-License-Identifier: GPL-2.0 */
/* Pages that the kernel counts as pinned by this process. */
#ifndef PINNED_H
#define PINNED_H

#include <stdio.h>
#include <unistd.h>

#include "results.h"

static inline size_t pinned_pages(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	size_t kb = 0;

	if (!f)
		die("/proc/self/status");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %zu", &kb) == 1)
			break;
	fclose(f);
	return kb * 1024 / sysconf(_SC_PAGESIZE);
}

#endif
