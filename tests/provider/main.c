// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the provider with a fake of libibverbs and the kernel, and prints TAP. This program
 * contains all files of the provider, and is not linked with libibverbs.
 */

#include <stdarg.h>
#include <stdio.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

static int points, failed;

static bool tap_report(bool good, const char *file, int line, const char *name,
		       va_list args)
{
	points++;
	printf("%sok %d - ", good ? "" : "not ", points);
	vprintf(name, args);
	printf("\n");
	if (!good) {
		failed++;
		printf("# at %s:%d\n", file, line);
	}

	return good;
}

bool tap_point(bool good, const char *file, int line, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	tap_report(good, file, line, name, args);
	va_end(args);

	return good;
}

bool tap_is(long long got, long long want, const char *file, int line,
	    const char *name, ...)
{
	va_list args;

	va_start(args, name);
	tap_report(got == want, file, line, name, args);
	va_end(args);
	if (got != want)
		printf("# got %lld, wanted %lld\n", got, want);

	return got == want;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	test_device();
	test_cq();
	test_cq_ex();
	test_cq_resize();
	test_pd();
	test_qp();
	test_srq();
	test_send();
	test_recv();
	test_wr();
	test_mw();
	test_iwtdv();
	test_threads();
	printf("1..%d\n", points);
	printf("# %d of %d failed\n", failed, points);

	return failed ? 1 : 0;
}
