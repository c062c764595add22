// SPDX-License-Identifier: GPL-2.0
/* Prints the results of tests in the Test Anything Protocol (see tap.h). */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>

#define REPORTS	10	/* maximum number of failed checks reported for one test */

static char name[200];
static char about[200];
static unsigned int tests, failed_tests;
static unsigned long checks, failed;

void tap_begin(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	about[0] = 0;
	checks = 0;
	failed = 0;
}

void tap_about(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(about, sizeof(about), fmt, ap);
	va_end(ap);
}

bool tap_check(bool good, const char *file, int line, const char *what)
{
	checks++;
	if (!good && failed++ < REPORTS)
		printf("# %s:%d: %s: false%s%s\n", file, line, what,
		       about[0] ? ", " : "", about);
	return good;
}

bool tap_check_eq(u64 got, u64 want, const char *file, int line,
		  const char *what)
{
	if (got != want && failed < REPORTS)
		printf("# %s:%d: got 0x%llx, want 0x%llx\n", file, line,
		       (unsigned long long)got, (unsigned long long)want);
	return tap_check(got == want, file, line, what);
}

void tap_end(void)
{
	bool good = checks && !failed;

	if (!checks)
		printf("# no check was made\n");
	tests++;
	failed_tests += !good;
	printf("%s %u - %s (%lu checks)\n", good ? "ok" : "not ok", tests, name,
	       checks);
	fflush(stdout);
}

int tap_plan(void)
{
	printf("1..%u\n", tests);
	if (failed_tests)
		printf("# %u of %u failed\n", failed_tests, tests);
	return failed_tests || !tests;
}
