/* SPDX-License-Identifier: GPL-2.0 */
/* Results in TAP. Only one thread may report. */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdbool.h>

/* Ends the program after a fatal error. Prints @what and errno. Any thread may call it. */
void die(const char *what) __attribute__((noreturn));

/* Prints a result. Return: @good */
bool report(bool good, const char *what, ...) __attribute__((format(printf, 2, 3)));

void skip(const char *what, const char *why);

/* Prints the number of results. Return: the exit status for the program */
int results_end(void);

#endif
