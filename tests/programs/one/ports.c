// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_ports: connects by RDMA or by TCP, and prints the local port of each connection.
 *
 *	iwt_ports [-t] [-r] [-k] [-n CONNECTIONS] [-f SOURCE] [-b LOCALPORT] ADDRESS PORT
 *	iwt_ports -s [-w] [-r] ADDRESS PORT...
 *
 * The client opens CONNECTIONS connections (1) to ADDRESS and PORT, one after the other, and
 * closes each connection before it opens the next. With -t the client uses TCP. With -b the local
 * end of each connection is bound to LOCALPORT and, with -f, to the address SOURCE (-f needs -b).
 * -r sets SO_REUSEADDR, or RDMA_OPTION_ID_REUSEADDR. With -k the client closes no connection, and
 * keeps all connections until a signal ends the client. The client prints "port N" for
 * each connection (for RDMA the port that rdma_cm chose). After a failure the client prints
 * "error NAME" and exits with status 1.
 *
 * With -s the program is a TCP server at ADDRESS and at most 8 PORTs, which closes a connection
 * when the client has closed it. With -w the server binds, prints "bound", and listens when
 * SIGUSR1 arrives.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>

#include "patience.h"
#include "results.h"

#define PATIENCE	60
#define LISTENERS	8
#define BACKLOG		128

static struct addrinfo *resolve(const char *address, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *ai;

	if (getaddrinfo(address, port, &hints, &ai))
		die("address");
	return ai;
}

static void print_port(const struct sockaddr *a)
{
	printf("port %u\n", ntohs(a->sa_family == AF_INET ? ((struct sockaddr_in *)a)->sin_port :
				  ((struct sockaddr_in6 *)a)->sin6_port));
	fflush(stdout);
}

/* Ends the program after a connection has failed. */
static void fail(void)
{
	printf("error %s\n", strerrorname_np(errno));
	exit(1);
}

/* Closes this end before the server closes its end, so that this end gets the state TIME_WAIT. */
static void close_first(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	shutdown(fd, SHUT_WR);
	if (patient_poll(&p, 1, PATIENCE * 1000) != 1)
		die("the server does not close");
	close(fd);
}

static void by_tcp(const struct addrinfo *from, const struct addrinfo *to, bool reuse, bool keep)
{
	int fd = socket(to->ai_family, SOCK_STREAM, 0), on = 1;
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	if (fd < 0)
		die("socket");
	if (reuse && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		die("SO_REUSEADDR");
	if (from && bind(fd, from->ai_addr, from->ai_addrlen))
		fail();
	if (connect(fd, to->ai_addr, to->ai_addrlen))
		fail();
	if (getsockname(fd, (struct sockaddr *)&name, &len))
		die("getsockname");
	print_port((struct sockaddr *)&name);
	if (!keep)
		close_first(fd);
}

/* Creates an rdma_cm_id without an event channel, so that functions wait for their events. */
static struct rdma_cm_id *new_id(bool reuse)
{
	struct rdma_cm_id *id;
	int on = 1;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (reuse && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)))
		die("RDMA_OPTION_ID_REUSEADDR");
	return id;
}

static void by_rdma(const struct addrinfo *from, const struct addrinfo *to, bool reuse, bool keep)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 2, 2, 1, 1, 0 } };
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_id *id = new_id(reuse);

	if (from && rdma_bind_addr(id, from->ai_addr))
		fail();
	if (rdma_resolve_addr(id, NULL, to->ai_addr, PATIENCE * 1000))
		fail();
	if (rdma_resolve_route(id, PATIENCE * 1000))
		die("rdma_resolve_route");
	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
	if (rdma_connect(id, &param))
		fail();
	print_port(rdma_get_local_addr(id));
	if (keep)
		return;
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static int listener(const struct addrinfo *ai, bool reuse)
{
	int fd = socket(ai->ai_family, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		die("socket");
	if (reuse && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		die("SO_REUSEADDR");
	if (bind(fd, ai->ai_addr, ai->ai_addrlen))
		fail();
	return fd;
}

static void serve_one(int fd)
{
	int conn = accept(fd, NULL, NULL);
	char buf[64];

	if (conn < 0)
		return;
	while (read(conn, buf, sizeof(buf)) > 0)
		;
	close(conn);
}

static int serve(char **arg, int n, bool reuse, bool wait)
{
	struct pollfd p[LISTENERS];
	sigset_t go_on;
	int i, sig;

	sigemptyset(&go_on);
	sigaddset(&go_on, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go_on, NULL);
	if (n > LISTENERS)
		n = LISTENERS;
	for (i = 0; i < n; i++)
		p[i] = (struct pollfd) { listener(resolve(arg[0], arg[i + 1]), reuse), POLLIN, 0 };
	if (wait) {
		printf("bound\n");
		fflush(stdout);
		sigwait(&go_on, &sig);
	}
	for (i = 0; i < n; i++)
		if (listen(p[i].fd, BACKLOG))
			fail();
	while (poll(p, n, -1) > 0)
		for (i = 0; i < n; i++)
			if (p[i].revents)
				serve_one(p[i].fd);
	return 1;
}

int main(int argc, char **argv)
{
	bool tcp = false, server = false, reuse = false, keep = false, wait = false;
	const char *address = NULL, *port = NULL;
	struct addrinfo *from = NULL, *to;
	int c, n = 1;

	while ((c = getopt(argc, argv, "tswrkn:f:b:")) != -1) {
		switch (c) {
		case 't': tcp = true; break;
		case 's': server = true; break;
		case 'w': wait = true; break;
		case 'r': reuse = true; break;
		case 'k': keep = true; break;
		case 'n': n = atoi(optarg); break;
		case 'f': address = optarg; break;
		case 'b': port = optarg; break;
		default: return 2;
		}
	}
	if (argc - optind < 2)
		return 2;
	if (server)
		return serve(argv + optind, argc - optind - 1, reuse, wait);
	to = resolve(argv[optind], argv[optind + 1]);
	if (port)
		from = resolve(address, port);
	while (n--)
		(tcp ? by_tcp : by_rdma)(from, to, reuse, keep);
	while (keep)
		pause();
	return 0;
}
