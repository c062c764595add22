// SPDX-License-Identifier: GPL-2.0
/*
 * A server for a peer that implements MPA itself. On each connection, the peer first sends a line
 * in streaming mode. This line selects the action of the server:
 *
 *	accept	send the line "ack", wait for a Request, accept it, echo messages
 *	reject	as accept, but reject the Request, and echo lines
 *	back	as accept, but the Reply contains the private data of the Request
 *	refuse	as reject, but the Reply contains the private data of the Request
 *	connect	be the initiator, echo messages, or echo lines after a reject
 *	offer N	as connect, with N bytes of private data
 *	plain N	as offer, without the enhanced startup (RFC 5044 only)
 *	bye	end the server
 *
 * The server prints to standard output: the depths (IRD and ORD) of each Request, and in
 * hexadecimal the private data of each Request, and of each Reply after "offer" and "plain". It
 * also prints "port PORT" at its start, and for each connection the action and the text of the
 * error ("ACTION: TEXT").
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"

static bool get_line(int fd, char *line, size_t size)
{
	size_t len = 0;

	while (len < size - 1 && recv(fd, line + len, 1, 0) == 1) {
		if (line[len] == '\n') {
			line[len] = 0;
			return true;
		}
		len++;
	}
	return false;
}

static void echo_messages(struct end *e)
{
	while (iwt_receive(e, NULL) && iwt_send(e, e->text))
		;
}

static void echo_lines(int fd)
{
	char line[256];

	while (get_line(fd, line, sizeof(line) - 1)) {
		strcat(line, "\n");
		if (!iwt_say(fd, line))
			break;
	}
}

static void tell(const char *what, const uint8_t *octets, size_t len)
{
	size_t i;

	printf("%s ", what);
	for (i = 0; i < len; i++)
		printf("%02x", octets[i]);
	printf("\n");
	fflush(stdout);
}

/* Connects with @n bytes of private data, whose values are 0, 1, 2 and so on. */
static int offer(struct end *e, struct iwtdv_conn_param *param, unsigned int n)
{
	uint8_t octets[IWTDV_MAX_PRIVATE_DATA];
	struct iwtdv_conn conn = {};
	unsigned int i;
	int err;

	for (i = 0; i < sizeof(octets); i++)
		octets[i] = i;
	param->private_data = octets;
	param->private_data_len = n;
	err = iwtdv_connect(e->qp, e->fd, param, &conn);
	if (!err || err == ECONNREFUSED)
		tell("reply", conn.private_data, conn.private_data_len);
	return err;
}

static int obey(struct end *e, const char *word)
{
	struct iwtdv_conn_param param = { .ird = 4, .ord = 4, .timeout = 5000 };
	struct iwtdv_request req = {};
	struct iwtdv_conn conn = {};
	const uint8_t *pd;
	unsigned int n;
	int err;

	if (!strcmp(word, "connect"))
		return iwtdv_connect(e->qp, e->fd, &param, &conn);
	param.flags = strncmp(word, "plain", 5) ? 0 : IWTDV_CONN_PLAIN;
	if (sscanf(word, "offer %u", &n) == 1 || sscanf(word, "plain %u", &n) == 1)
		return offer(e, &param, n);
	err = iwtdv_get_request(e->fd, "ack\n", 4, param.timeout, &req);
	if (err)
		return err;
	pd = req.frame + req.private_data_offset;
	printf("depths %u %u\n", req.ird, req.ord);
	tell("request", pd, req.private_data_len);
	if (!strcmp(word, "reject"))
		return iwtdv_reject(e->ctx, e->fd, &req, "no", 2) ?:
		       ECONNREFUSED;
	if (!strcmp(word, "refuse"))
		return iwtdv_reject(e->ctx, e->fd, &req, pd, req.private_data_len) ?:
		       ECONNREFUSED;
	if (!strcmp(word, "back")) {
		param.private_data = pd;
		param.private_data_len = req.private_data_len;
	}
	return iwtdv_accept(e->qp, e->fd, &req, &param, &conn);
}

int iwt_serve(uint16_t port)
{
	int fd = iwt_listen(iwt_ip, &port);
	char word[32];
	struct end *e;
	bool told;
	int err;

	printf("port %u\n", port);
	fflush(stdout);
	do {
		e = iwt_open();
		e->fd = accept(fd, NULL, NULL);
		if (e->fd < 0 || !get_line(e->fd, word, sizeof(word)))
			strcpy(word, "none");
		told = strcmp(word, "bye") && strcmp(word, "none");
		err = told ? obey(e, word) : 0;
		printf("%s: %s\n", word, strerror(err));
		fflush(stdout);
		if (err == ECONNREFUSED)
			echo_lines(e->fd);
		else if (told && !err)
			echo_messages(e);
		iwt_close(e);
	} while (strcmp(word, "bye"));
	return 0;
}

/* Makes a connection that lasts until one end is killed or the device is removed. */
int iwt_client(uint16_t port)
{
	struct end *e = iwt_open();
	int n = 0;

	e->fd = iwt_dial(iwt_ip, port);
	if (!iwt_say(e->fd, "accept\n") || !iwt_hear(e->fd, "ack\n"))
		iwt_die("streaming mode");
	errno = iwt_connect(e, NULL, NULL);
	if (errno)
		iwt_die("iwtdv_connect");
	do {
		if (n++ == 1)
			printf("moving\n");
		fflush(stdout);
		usleep(1000);
	} while (iwt_send(e, "ping") && iwt_receive(e, "ping"));
	printf("over: %s\n", iwt_hung_up(e->fd) ? "POLLHUP" : "nothing");
	iwt_close(e);
	return 0;
}

/* Starts an initiator that sends its Request and waits for the Reply. */
int iwt_hold(uint16_t port)
{
	struct iwtdv_conn_param param = { .timeout = PATIENCE * 1000 };
	struct iwtdv_conn conn = {};
	struct end *e = iwt_open();

	e->fd = iwt_dial(iwt_ip, port);
	printf("holding\n");
	fflush(stdout);
	return iwtdv_connect(e->qp, e->fd, &param, &conn);
}
