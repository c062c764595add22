// SPDX-License-Identifier: GPL-2.0
/*
 * Ends many connections while the module iwt_held owns their sockets for an unlimited time. The
 * driver must not need a thread for each of these connections, and other connections must work.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach.h"
#include "patience.h"

#define CROWD	48
#define FEW	8
/* Seconds; the driver lets a connection linger for longer, as long as its socket has an owner. */
#define BRIEF	20

/*
 * Counts the kernel's workers that execute work of the driver now, including workers that sleep.
 */
static int workers(void)
{
	char comm[64];
	int n = 0;
	size_t i;
	glob_t g;
	FILE *f;

	if (glob("/proc/[0-9]*/comm", 0, NULL, &g))
		iwt_die("/proc");
	for (i = 0; i < g.gl_pathc; i++) {
		f = fopen(g.gl_pathv[i], "r");
		if (!f)
			continue;
		n += fgets(comm, sizeof(comm), f) && strstr(comm, "+iw_tcp");
		fclose(f);
	}
	globfree(&g);
	return n;
}

/*
 * At any time, a few workers may execute work of the driver. But a worker that waits for the
 * owner of a socket never ends its work, so the number of workers would not become less than FEW
 * in @seconds.
 */
static bool nobody_waits(unsigned int seconds)
{
	int least = CROWD * 2, n;
	struct patience p = {};

	while (patient(&p, seconds, 0)) {
		n = workers();
		least = n < least ? n : least;
		if (n < FEW)
			return true;
		usleep(100000);
	}
	printf("# never less than %d workers\n", least);
	return false;
}

static void begin(struct end *e[][2])
{
	int i, fds[2];

	for (i = 0; i < CROWD; i++) {
		iwt_tcp_pair(iwt_ip, fds);
		iwt_attach_pair(e[i], fds);
		if (!iwt_ctl("hold", fds[0]))
			iwt_die("hold");
	}
}

/*
 * Moves the first queue pair of each connection to the error state, and destroys every second of
 * these queue pairs.
 */
static bool end(struct end *e[][2])
{
	bool good = true;
	int i;

	for (i = 0; i < CROWD; i++) {
		good &= !iwt_modify(e[i][0], IBV_QPS_ERR) && iwt_failed(e[i][0]);
		if (i % 2)
			iwt_destroy_qp(e[i][0]);
	}
	return good;
}

static bool another(void)
{
	struct end *e[2];
	bool good[2];

	iwt_make_pair(e, iwt_ip);
	iwt_bursts(e, 3, good);
	iwt_destroy_qp(e[0]);
	good[0] &= iwt_failed(e[1]);
	iwt_close_pair(e);
	return good[0] && good[1];
}

/*
 * The driver has sent FIN on each of these connections, and waits for the FIN of the peer, while
 * iwt_held owns the sockets.
 */
static void linger(void)
{
	struct end *e[CROWD];
	int fds[CROWD][2], i;
	bool good = true;

	for (i = 0; i < CROWD; i++) {
		e[i] = iwt_closing(fds[i]);
		if (!iwt_ctl("hold", fds[i][0]))
			iwt_die("hold");
	}
	for (i = 0; i < CROWD; i++)
		iwt_destroy_qp(e[i]);
	iwt_ok(nobody_waits(BRIEF), "crowd: no thread waits for each connection that lingers");
	iwt_ok(another(), "crowd: another connection works while these connections linger");
	for (i = 0; i < CROWD; i++)
		good &= !shutdown(fds[i][1], SHUT_WR);
	good &= iwt_ctl("end", -1);
	for (i = 0; i < CROWD; i++) {
		good &= iwt_hung_up(fds[i][0]);
		iwt_close(e[i]);
		close(fds[i][1]);
	}
	iwt_ok(good, "crowd: these connections end after the release of the sockets");
}

void iwt_crowd(void)
{
	struct rlimit limit = { 4096, 4096 };
	struct end *e[CROWD][2];
	bool good = true;
	int i;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		iwt_die("RLIMIT_NOFILE");
	begin(e);
	iwt_ok(end(e), "crowd: all connections end while iwt_held owns their sockets");
	iwt_ok(nobody_waits(PATIENCE), "crowd: the driver has no waiting thread for each connection");
	iwt_ok(another(), "crowd: another connection can be made, used and ended");
	good = iwt_ctl("end", -1);
	for (i = 0; i < CROWD; i++) {
		good &= iwt_failed(e[i][1]);
		iwt_close_pair(e[i]);
	}
	iwt_ok(good, "crowd: the peers see the end after the release of the sockets");
	linger();
}
