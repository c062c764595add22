/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

/* ok(): one test point; the arguments after the condition are its name, as for printf() */
#define ok(cond, ...) tap_point((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is(got, want, ...) \
	tap_is((long long)(got), (long long)(want), __FILE__, __LINE__, \
	       __VA_ARGS__)

bool tap_point(bool good, const char *file, int line, const char *name, ...)
	__attribute__((format(printf, 4, 5)));
bool tap_is(long long got, long long want, const char *file, int line,
	    const char *name, ...) __attribute__((format(printf, 5, 6)));

#endif
