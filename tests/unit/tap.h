/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One TAP line for each test. A test makes any number of checks; it fails when
 * one of them does, and also when it made none.
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
/* Describes the next checks, for the report of failed ones. */
__printf(1, 2)
void tap_about(const char *fmt, ...);
bool tap_check(bool good, const char *file, int line, const char *what);
bool tap_check_eq(u64 got, u64 want, const char *file, int line,
		  const char *what);
void tap_end(void);
int tap_plan(void);

#endif
