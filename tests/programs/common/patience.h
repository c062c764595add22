/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time limits for events that have to happen. A program waits as long as there is progress, and
 * then for some seconds in which this machine runs. Normal clocks are not enough: a processor of
 * a virtual machine may stand still for minutes, together with the tasks bound to it, and a busy
 * machine may need minutes for work that other machines do at once.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * running_ms() - milliseconds in which all processors ran
 *
 * Reads the file $IWT_CLOCK, which iwt_patient writes. Without this file, it adds up the time
 * between calls, but at most one second for each call. The first call returns 0. Any thread may
 * call it.
 */
uint64_t running_ms(void);

/* The state of a wait. All zero: the wait has not begun. */
struct patience {
	bool begun, over;
	uint64_t since;		/* running_ms() at the last progress */
	uint64_t moved;		/* the caller's count at that time */
};

/**
 * patient() - may the caller go on waiting?
 * @moved: the caller's count of expected events, or of steps towards them. A value that differs
 *	from the last one is progress, and the wait begins again.
 *
 * Return: true until @moved has been the same for @seconds of running_ms(). Then the function
 *	prints a time-out on standard error.
 */
bool patient(struct patience *p, unsigned int seconds, uint64_t moved);

/*
 * Like alarm(): sends SIGALRM when @moved() has been the same for @seconds. If @moved is NULL,
 * sends the signal after @seconds.
 */
void patient_alarm(unsigned int seconds, uint64_t (*moved)(void));

/*
 * Like poll(), but waits for @ms of running_ms(). A wait of less than a second is a wait for an
 * event that must not happen, and uses the normal clock.
 */
int patient_poll(struct pollfd *fds, nfds_t n, int ms);

#endif
