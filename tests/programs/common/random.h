/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers. The same seed gives the same numbers. Only one thread may call these functions.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints the seed as a comment in TAP. @seed: a number, or NULL for a new seed */
void random_begin(const char *seed);

/* Return: a random number less than @n */
uint32_t below(uint32_t n);

/* Return: true with a probability of @percent per cent */
bool chance(uint32_t percent);

/* Fills @len bytes with random values. */
void fill(uint8_t *at, size_t len);

#endif
