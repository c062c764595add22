// SPDX-License-Identifier: GPL-2.0
/* Random numbers: the upper bits of a linear congruential generator. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

static uint64_t state;

void random_begin(const char *seed)
{
	state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
	printf("# seed %#llx\n", (unsigned long long)state);
}

static uint32_t next(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

uint32_t below(uint32_t n)
{
	return next() % n;
}

bool chance(uint32_t percent)
{
	return below(100) < percent;
}

void fill(uint8_t *at, size_t len)
{
	while (len--)
		*at++ = next();
}
