/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Delays at random, for tests: where one context hands something over to another, or has looked
 * and not yet acted, a third one rarely comes between. With delays there, it often does.
 * Ordinary builds have none.
 */
#ifndef IWT_DAWDLE_H
#define IWT_DAWDLE_H

#include <linux/delay.h>
#include <linux/kconfig.h>
#include <linux/random.h>

#define IWT_DAWDLE_US	2000

static inline u32 iwt_dawdle_us(void)
{
	u32 random = get_random_u32();

	return random & 3 ? 0 : random / 4 % IWT_DAWDLE_US;
}

/* In any context. */
static inline void iwt_dawdle(void)
{
	u32 us;

	if (!IS_ENABLED(CONFIG_INFINIBAND_IW_TCP_DAWDLE))
		return;
	for (us = iwt_dawdle_us(); us; us--)
		udelay(1);
}

/* Where it may sleep, so that others have the processor. */
static inline void iwt_doze(void)
{
	u32 us;

	if (!IS_ENABLED(CONFIG_INFINIBAND_IW_TCP_DAWDLE))
		return;
	us = iwt_dawdle_us();
	if (us)
		usleep_range(us, us + 1);
}

#endif
