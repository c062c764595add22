// SPDX-License-Identifier: GPL-2.0
/*
 * Imitates system calls that are interrupted at a bad moment: a call reads the operations of the
 * socket, and uses these operations later, when the socket may have other operations. A real
 * system call does this if it is preempted in between.
 */
#include <linux/fcntl.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/uio.h>

#include "held.h"

static struct socket *sock;
static const struct proto_ops *ops;
static struct sockaddr_storage peer;

/**
 * iwt_held_begin() - begin system calls: read the operations of a socket
 * @s: connected socket; the caller holds a reference until iwt_held_forget()
 *
 * Return: 0 or -errno.
 */
int iwt_held_begin(struct socket *s)
{
	int err = kernel_getpeername(s, (void *)&peer);

	if (err < 0)
		return err;
	sock = s;
	ops = READ_ONCE(s->ops);
	return 0;
}

/**
 * iwt_held_forget() - drop the system calls that iwt_held_begin() began
 */
void iwt_held_forget(void)
{
	ops = NULL;
}

static int dial(const struct sockaddr_storage *to)
{
	struct sockaddr_storage a = *to;

	return ops->connect(sock, (void *)&a, sizeof(a), O_NONBLOCK);
}

static int transfer(bool send)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	char octets[16] = {};	/* not an FPDU */
	struct kvec v = { .iov_base = octets, .iov_len = sizeof(octets) };

	iov_iter_kvec(&msg.msg_iter, send ? ITER_SOURCE : ITER_DEST, &v, 1, sizeof(octets));
	if (send)
		return ops->sendmsg(sock, &msg, sizeof(octets));
	return ops->recvmsg(sock, &msg, sizeof(octets), MSG_DONTWAIT);
}

/**
 * iwt_held_go_on() - continue a system call with the operations that iwt_held_begin() read
 * @call: name of the call, as in a line of the file "ctl"
 *
 * Return: 0, the error of the call, or -EINVAL for an unknown name or if no call has begun.
 */
int iwt_held_go_on(const char *call)
{
	static const struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	int ret = -EINVAL;

	if (!ops)
		return ret;
	if (!strcmp(call, "connect"))
		ret = dial(&none);
	else if (!strcmp(call, "reconnect"))
		ret = dial(&peer);
	else if (!strcmp(call, "listen"))
		ret = ops->listen(sock, 1);
	else if (!strcmp(call, "shutdown"))
		ret = ops->shutdown(sock, SHUT_RDWR);
	else if (!strcmp(call, "half"))
		ret = ops->shutdown(sock, SHUT_WR);
	else if (!strcmp(call, "send"))
		ret = transfer(true);
	else if (!strcmp(call, "recv"))
		ret = transfer(false);
	return ret < 0 ? ret : 0;
}
