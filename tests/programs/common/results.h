/* SPDX-License-Identifier: GPL-2.0 */
/* Results in TAP. One thread reports. */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdbool.h>

/* Ends the program: it can't go on. Says what errno is. Any thread. */
void die(const char *what) __attribute__((noreturn));

/* Return: @good */
bool report(bool good, const char *what, ...) __attribute__((format(printf, 2, 3)));

void skip(const char *what, const char *why);

/* Says how many results there are. Return: the status of the program. */
int results_end(void);

#endif
