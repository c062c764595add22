/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long programs wait for what has to happen: as long as something moves, and then for some
 * seconds in which this machine ran. A processor of a virtual machine may stand still for minutes,
 * with all tasks bound to it, and a busy machine may need minutes for what others do at once.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * running_ms() - milliseconds in which all processors ran
 *
 * The file $IWT_CLOCK tells, which iwt_patient writes. Without it, time passes only while a process
 * looks: a look that comes late counts for a second. The first look returns 0. Any thread.
 */
uint64_t running_ms(void);

/* Where a wait is. All zero: it has not begun. */
struct patience {
	bool begun, over;
	uint64_t since;		/* running_ms() at the last movement */
	uint64_t moved;		/* what the caller counted then */
};

/**
 * patient() - may the caller go on waiting?
 * @moved: counts what the wait is for, or what leads to it. Any other value than the last one
 *	begins the wait again.
 *
 * Return: true until @moved has been the same for @seconds of running_ms(). Standard error is told
 *	if it was not enough.
 */
bool patient(struct patience *p, unsigned int seconds, uint64_t moved);

/* As alarm(), after @seconds in which @moved() was the same; if it is NULL, after @seconds. */
void patient_alarm(unsigned int seconds, uint64_t (*moved)(void));

/*
 * poll(), for @ms of running_ms(). What is shorter than a second is the wait for what must not
 * happen, and goes by the clock.
 */
int patient_poll(struct pollfd *fds, nfds_t n, int ms);

#endif
