/* SPDX-License-Identifier: GPL-2.0 */
/* Results in TAP. Only one thread may report. */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdbool.h>

/* Prints @what and the text of errno, and ends the program. Any thread may call this function. */
void die(const char *what) __attribute__((noreturn));

/* Prints a result. Return: @good */
bool report(bool good, const char *what, ...) __attribute__((format(printf, 2, 3)));

void skip(const char *what, const char *why);

/* Prints the number of results. Return: the exit status for the program */
int results_end(void);

#endif
