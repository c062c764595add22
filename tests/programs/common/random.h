/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that a seed repeats. One thread draws. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @seed: a number, or NULL for a new one. It is said in the results. */
void random_begin(const char *seed);

/* A number less than @n */
uint32_t below(uint32_t n);

bool chance(uint32_t percent);
void fill(uint8_t *at, size_t len);

#endif
