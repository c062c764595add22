// SPDX-License-Identifier: GPL-2.0
/*
 * An RCU read-side critical section that continues until iwt_kt_read_end(). Meanwhile no grace
 * period ends, so a test can find code that waits for a grace period.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/nmi.h>
#include <linux/rcupdate.h>

#include "kt.h"

/* Seconds; less than the time after which the kernel reports an RCU stall */
#define KT_READER_S	10

static bool reading, stop;

/**
 * iwt_kt_reading() - is a critical section of iwt_kt_read_begin() in progress?
 */
bool iwt_kt_reading(void)
{
	return READ_ONCE(reading);
}

/**
 * iwt_kt_read_end() - end the critical section
 */
void iwt_kt_read_end(void)
{
	WRITE_ONCE(stop, true);
}

/**
 * iwt_kt_read_begin() - execute a critical section until iwt_kt_read_end()
 *
 * Occupies a processor. Return: 0, or -ETIMEDOUT if iwt_kt_read_end() was not called within
 * KT_READER_S seconds.
 */
int iwt_kt_read_begin(void)
{
	ktime_t until = ktime_add_ms(ktime_get(), KT_READER_S * MSEC_PER_SEC);
	bool late = false;

	WRITE_ONCE(stop, false);
	rcu_read_lock();
	WRITE_ONCE(reading, true);
	while (!READ_ONCE(stop) && !late) {
		cpu_relax();
		touch_softlockup_watchdog();
		late = ktime_after(ktime_get(), until);
	}
	WRITE_ONCE(reading, false);
	rcu_read_unlock();
	return late ? -ETIMEDOUT : 0;
}
