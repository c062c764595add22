/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

/*
 * ok() and is() report one test point. The point passes if @cond is true, or if @got equals
 * @want. The other arguments are the name of the point, as for printf(). Both macros return true
 * if the point passed.
 */
#define ok(cond, ...) tap_point((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is(got, want, ...) \
	tap_is((long long)(got), (long long)(want), __FILE__, __LINE__, \
	       __VA_ARGS__)

bool tap_point(bool good, const char *file, int line, const char *name, ...)
	__attribute__((format(printf, 4, 5)));
bool tap_is(long long got, long long want, const char *file, int line,
	    const char *name, ...) __attribute__((format(printf, 5, 6)));

#endif
