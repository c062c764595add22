/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output in the Test Anything Protocol (TAP): one line for each test. A test makes any number of
 * checks. The test fails if one of the checks fails, or if the test makes no check.
 */
#ifndef IWT_TAP_H
#define IWT_TAP_H

#include <linux/types.h>

#define CHECK(x)	tap_check(!!(x), __FILE__, __LINE__, #x)
#define CHECK_EQ(got, want) \
	tap_check_eq((u64)(got), (u64)(want), __FILE__, __LINE__, \
		     #got " == " #want)

__printf(1, 2)
void tap_begin(const char *fmt, ...);
/* Sets a description, which is printed with each of the next checks that fails. */
__printf(1, 2)
void tap_about(const char *fmt, ...);
/* Return: true if the check passed. */
bool tap_check(bool good, const char *file, int line, const char *what);
bool tap_check_eq(u64 got, u64 want, const char *file, int line,
		  const char *what);
void tap_end(void);
int tap_plan(void);

#endif
