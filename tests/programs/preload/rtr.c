// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD library: makes an iWARP connection for a program that connects two of its queue
 * pairs by their numbers, as with InfiniBand. When both queue pairs have been moved to RTR, each
 * with the number of the other queue pair, the library connects them over a pair of TCP sockets
 * on the address IWT_RTR_ADDRESS. The queue pair that was moved first is the initiator.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/iwtdv.h>
#include <infiniband/verbs.h>

#define MAX	4096	/* queue pairs */
#define DEPTH	16

/*
 * A queue pair that has been moved to INIT. @waiting: it is in RTR, and the queue pair with the
 * number @peer is not. @rights: its access flags. @fd, @err: socket and result of its connection
 */
struct end {
	struct ibv_qp *qp;
	bool waiting;
	uint32_t peer;
	unsigned int rights;
	int fd, err;
};

static struct end ends[MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* @fd: the two ends of a new TCP connection. Return: 0 or an error number */
static int tcp_pair(int fd[2])
{
	const char *address = getenv("IWT_RTR_ADDRESS");
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int listener, err = 0;

	if (!address || inet_pton(AF_INET, address, &a.sin_addr) != 1)
		return EINVAL;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd[1] = -1;
	if (bind(listener, (struct sockaddr *)&a, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&a, &len) ||
	    connect(fd[0], (struct sockaddr *)&a, len))
		err = errno;
	else
		fd[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd[1] < 0) {
		err = err ? err : errno;
		close(fd[0]);
	}
	close(listener);
	return err;
}

static void *respond(void *arg)
{
	struct iwtdv_conn_param param = { .ird = DEPTH, .ord = DEPTH };
	struct iwtdv_request request = {};
	struct iwtdv_conn conn = {};
	struct end *e = arg;

	e->err = iwtdv_get_request(e->fd, NULL, 0, 0, &request);
	if (!e->err)
		e->err = iwtdv_accept(e->qp, e->fd, &request, &param, &conn);
	return NULL;
}

static int join(struct end *initiator, struct end *responder)
{
	struct iwtdv_conn_param param = { .ird = DEPTH, .ord = DEPTH };
	struct iwtdv_conn conn = {};
	pthread_t thread;
	int fd[2], err = tcp_pair(fd);

	if (err)
		return err;
	initiator->fd = fd[0];
	responder->fd = fd[1];
	err = pthread_create(&thread, NULL, respond, responder);
	if (!err) {
		err = iwtdv_connect(initiator->qp, fd[0], &param, &conn);
		pthread_join(thread, NULL);
		err = err ? err : responder->err;
	}
	close(fd[0]);
	close(fd[1]);
	return err;
}

/* Return: the entry of @qp, or a free entry if @qp is NULL; NULL if there is no such entry */
static struct end *find(const struct ibv_qp *qp)
{
	int i;

	for (i = 0; i < MAX; i++)
		if (ends[i].qp == qp)
			return &ends[i];
	return NULL;
}

static struct end *find_peer(const struct end *e)
{
	int i;

	for (i = 0; i < MAX; i++)
		if (ends[i].qp && ends[i].waiting && ends[i].qp->qp_num == e->peer &&
		    ends[i].peer == e->qp->qp_num)
			return &ends[i];
	return NULL;
}

static int next_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int) =
		(int (*)(struct ibv_qp *, struct ibv_qp_attr *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");

	return next(qp, attr, mask);
}

/*
 * Sets the access flags that the program has chosen, even if these are 0. Without this call, a
 * connected iWARP queue pair would have access flags by default; an InfiniBand queue pair has no
 * default.
 */
static int state_rights(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_access_flags = e->rights };

	return next_modify(e->qp, &attr, IBV_QP_ACCESS_FLAGS);
}

static int to_init(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct end *e = find(qp);

	e = e ? e : find(NULL);
	if (!e)
		return ENOMEM;
	*e = (struct end) { .qp = qp, .rights = mask & IBV_QP_ACCESS_FLAGS ? attr->qp_access_flags : 0 };
	return next_modify(qp, attr, mask);
}

static int to_rtr(struct ibv_qp *qp, uint32_t peer)
{
	struct end *e = find(qp), *other;
	int err;

	if (!e)
		return EINVAL;
	e->peer = peer;
	other = find_peer(e);
	e->waiting = !other;
	if (other) {
		other->waiting = false;
		err = join(other, e);
		err = err ? err : state_rights(e);
		err = err ? err : state_rights(other);
		if (err)
			return err;
	}
	qp->state = IBV_QPS_RTR;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : IBV_QPS_UNKNOWN;
	int err = 0;

	if (qp->qp_type != IBV_QPT_RC)
		return next_modify(qp, attr, mask);
	pthread_mutex_lock(&lock);
	if (to == IBV_QPS_INIT)
		err = to_init(qp, attr, mask);
	else if (to == IBV_QPS_RTR && mask & IBV_QP_DEST_QPN)
		err = to_rtr(qp, attr->dest_qp_num);
	else if (to == IBV_QPS_RTS && mask & IBV_QP_SQ_PSN)
		qp->state = IBV_QPS_RTS;
	else
		err = next_modify(qp, attr, mask);
	pthread_mutex_unlock(&lock);
	return err;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*next)(struct ibv_qp *) = (int (*)(struct ibv_qp *))dlsym(RTLD_NEXT, "ibv_destroy_qp");
	struct end *e;

	pthread_mutex_lock(&lock);
	e = find(qp);
	if (e)
		e->qp = NULL;
	pthread_mutex_unlock(&lock);
	return next(qp);
}
