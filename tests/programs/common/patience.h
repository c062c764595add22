/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time limits for events that have to happen. A program waits as long as there is progress. A
 * wait fails when there was no progress for some seconds in which this machine ran. Normal clocks
 * are not enough: a processor of a virtual machine may stand still for minutes, together with the
 * tasks bound to this processor, and a busy machine may need minutes for work that other machines
 * do at once.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * running_ms() - milliseconds in which all processors ran
 *
 * Reads the file $IWT_CLOCK, which iwt_patient writes. Without this file, the function adds up
 * the time between its calls, but at most one second for each call. The first call returns 0. Any
 * thread may call this function.
 */
uint64_t running_ms(void);

/* The state of a wait. If all fields are zero, the wait has not begun. */
struct patience {
	bool begun, over;
	uint64_t since;		/* running_ms() at the last progress */
	uint64_t moved;		/* the caller's count at the last progress */
};

/**
 * patient() - may the caller go on waiting?
 * @p: state of the wait
 * @seconds: time limit, by running_ms(), in which @moved must change
 * @moved: the caller's count of expected events, or of steps towards these events. If @moved is
 *	different from the previous call, there was progress, and the time limit begins again.
 *
 * Return: true until the time limit expires. Then false, and the first of these calls prints a
 *	time-out on standard error.
 */
bool patient(struct patience *p, unsigned int seconds, uint64_t moved);

/*
 * Prints on standard error that a wait for @what timed out. Call this function just before a
 * failed result that does not follow the end of its wait at once: the line belongs to the next
 * result only (tests/README).
 */
void patient_late(const char *what);

/*
 * Like alarm(): sends SIGALRM when @moved() has returned the same value for @seconds seconds of
 * running_ms(). If @moved is NULL, sends the signal after @seconds seconds. If no thread can be
 * created that watches the time, the process exits with status 1.
 */
void patient_alarm(unsigned int seconds, uint64_t (*moved)(void));

/*
 * Like poll(), but measures @ms by running_ms(), and prints a time-out on standard error if there
 * is no event in time. If @ms is less than 1000, this function assumes that the caller waits for an
 * event that must not happen, and calls poll() with @ms.
 */
int patient_poll(struct pollfd *fds, nfds_t n, int ms);

#endif
