// SPDX-License-Identifier: GPL-2.0
/* Results in TAP. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

static unsigned int n_tests, n_bad;

void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

bool report(bool good, const char *what, ...)
{
	va_list args;

	n_bad += !good;
	printf("%sok %u - ", good ? "" : "not ", ++n_tests);
	va_start(args, what);
	vprintf(what, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	return good;
}

void skip(const char *what, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", ++n_tests, what, why);
	fflush(stdout);
}

int results_end(void)
{
	printf("1..%u\n", n_tests);
	return !!n_bad;
}
