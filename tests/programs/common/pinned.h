/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the kernel's count of the pages that this process has pinned. */
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

/*
 * Waits until the number of pinned pages has stopped changing: the kernel counts the rings of an
 * ended connection for up to a second longer.
 */
static inline size_t pinned_at_rest(void)
{
	size_t pinned = pinned_pages();
	int tenths;

	for (tenths = 0; tenths < 15; tenths++) {
		usleep(100000);
		if (pinned != pinned_pages()) {
			pinned = pinned_pages();
			tenths = 0;
		}
	}
	return pinned;
}

#endif
