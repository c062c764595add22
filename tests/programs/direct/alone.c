// SPDX-License-Identifier: GPL-2.0
/* Queue pairs that never find their peer. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "direct.h"

/* The tests wait for this line. */
static void say_begun(void)
{
	report(true, "the queue pairs try to connect");
	fflush(stdout);
}

/*
 * On each link, requests of @pairs queue pairs wait for a connection for ever, until a test kills
 * the process or removes a link. The queue pairs of one link try to connect, the queue pairs of
 * the other link listen.
 */
void test_alone(uint32_t pairs)
{
	struct how how = usual;
	struct end x, y;
	uint32_t i;

	how.timeout = 0;
	how.wrong_qpn = 1;
	for (i = 0; i < pairs; i++) {
		end_make(&x, &a);
		end_make(&y, &b);
		if (connect_end(&x, &y, &how) || connect_end(&y, &x, &how) ||
		    post_op(&x, IBV_WR_SEND, i, &y) || post_op(&y, IBV_WR_SEND, i, &x) ||
		    post_recv(&x, i) || post_recv(&y, i))
			die("connect");
	}
	say_begun();
	pause();
}

/*
 * @n queue pairs of the first link try to connect to a queue pair that never waits for them, until a
 * test kills the process. The second link may be in another namespace than the process.
 */
void test_calling(uint32_t n)
{
	struct end x, y;
	uint32_t i;

	end_make(&y, &b);
	for (i = 0; i < n; i++) {
		end_make(&x, &a);
		if (connect_end(&x, &y, &usual))
			die("connect");
	}
	say_begun();
	pause();
}

/*
 * @n queue pairs of the first link try to connect to queue pairs that never wait for them. The
 * process resets each of them again and again, and each of them begins again at once.
 */
void test_restless(uint32_t n)
{
	struct end *x = calloc(n, sizeof(*x)), y;
	uint32_t i, rounds;

	if (!x)
		die("calloc");
	end_make(&y, &b);
	for (i = 0; i < n; i++)
		end_make(&x[i], &a);
	for (rounds = 0;; rounds++) {
		for (i = 0; i < n; i++)
			if (to_state(&x[i], IBV_QPS_RESET) || connect_end(&x[i], &y, &usual))
				die("connect");
		if (!rounds)
			say_begun();
	}
}
