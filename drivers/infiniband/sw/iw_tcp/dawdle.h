/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random delays, for tests. One context often executes two related steps: for example, it checks
 * a state and then acts, or it stores data and then queues a work. In a race, another context
 * executes a step between these two steps, which happens rarely. A delay between the two steps
 * makes the race likely. Ordinary builds have no delays.
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

/* Delay by spinning; any context. */
static inline void iwt_dawdle(void)
{
	u32 us;

	if (!IS_ENABLED(CONFIG_INFINIBAND_IW_TCP_DAWDLE))
		return;
	for (us = iwt_dawdle_us(); us; us--)
		udelay(1);
}

/* Delay by sleeping, so that other tasks can use the processor; process context. */
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
