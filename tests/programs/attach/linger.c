// SPDX-License-Identifier: GPL-2.0
/*
 * The peer ends the stream. When the driver locks the socket to look for the peer's FIN, the
 * module iwt_held already owns the socket, and keeps it for longer than the driver waits. No
 * other event of the socket follows, so the driver must check the socket again later.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach.h"
#include "patience.h"

/* One successful round is enough, because a round fails if the machine stops for some seconds. */
#define ROUNDS	3

/*
 * Return: true if "waylay" has taken the ownership of the socket just before a caller waited for
 * it.
 */
static bool caught(void)
{
	int fd = open(IWT_HELD_CTL, O_RDONLY);
	char is = 0;

	if (fd < 0 || read(fd, &is, 1) != 1)
		iwt_die(IWT_HELD_CTL);
	close(fd);
	return is == '1';
}

static bool caught_in_time(void)
{
	struct patience p = {};

	while (!caught()) {
		if (!patient(&p, PATIENCE, 0))
			return false;
		usleep(10000);
	}
	return true;
}

/*
 * Returns an end whose endpoint in the driver has sent FIN and waits for the FIN of the peer. The
 * peer is the plain TCP socket @fds[1].
 */
struct end *iwt_closing(int fds[2])
{
	static const char frame[] = "MPA ID Req Frame\x40\x01\x00\x00";
	struct iwtdv_request req = { .frame_len = 20 };
	struct iwtdv_conn_param param = {};
	struct iwtdv_conn conn;
	struct end *e = iwt_open();
	char octets[64];

	memcpy(req.frame, frame, 20);
	iwt_tcp_pair(iwt_ip, fds);
	e->fd = fds[0];
	errno = iwtdv_accept(e->qp, e->fd, &req, &param, &conn);
	if (errno)
		iwt_die("iwtdv_accept");
	errno = iwt_modify(e, IBV_QPS_SQD);
	if (errno)
		iwt_die("SQD");
	while (recv(fds[1], octets, sizeof(octets), 0) > 0)
		;
	return e;
}

/* As iwt_closing(), but the returned end has no queue pair. */
static struct end *lingering(int fds[2])
{
	struct end *e = iwt_closing(fds);

	iwt_destroy_qp(e);
	/* let the driver finish, otherwise "waylay" may act on an earlier caller */
	usleep(300000);
	return e;
}

/*
 * Return: 1 if the round succeeded, 0 if it failed, -1 if iwt_held does not support "waylay" in
 * this kernel.
 */
static int one_round(void)
{
	struct end *e;
	int fds[2], ret = -1;

	e = lingering(fds);
	if (iwt_ctl("waylay", fds[0])) {
		ret = !caught();
		shutdown(fds[1], SHUT_WR);
		ret = ret && caught_in_time();
		/* let the driver look at the socket several times while it has an owner */
		sleep(1);
		iwt_ctl("end", -1);
	}
	if (ret > 0 && !iwt_hung_up(fds[0]))
		ret = 0;
	iwt_close(e);
	close(fds[1]);
	return ret;
}

/* A script checks in the kernel's trace how the endpoints end. */
void iwt_linger(void)
{
	int i, ret = 0, good = 0;

	for (i = 0; i < ROUNDS && ret >= 0; i++) {
		ret = one_round();
		good += ret > 0;
	}
	if (ret < 0)
		iwt_skip("a socket that has an owner when the peer ends the stream",
			 "this kernel has no probe there");
	else
		iwt_ok(good, "a socket that has an owner when the peer ends the stream");
}
