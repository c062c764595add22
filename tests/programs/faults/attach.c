// SPDX-License-Identifier: GPL-2.0
/*
 * Steps of iwt_faults: two queue pairs of this process are connected without rdma_cm: by delayed
 * startup on sockets (iwtdv(7)), or by a direct connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/iwtdv.h>

#include "faults.h"
#include "patience.h"

#define WAIT	60	/* seconds */
#define PSN	1234	/* of both ends of direct connections */
#define UNTIL_RECV	20000	/* microseconds for which a Send waits for a receive */

static struct end {
	int fd;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char buf[64];
	int err;
} ends[2];

static int open_end(struct end *e)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };

	e->pd = ibv_alloc_pd(iwt_context);
	e->cq = ibv_create_cq(iwt_context, 8, NULL, NULL, 0);
	if (!e->pd || !e->cq)
		return -1;
	e->mr = ibv_reg_mr(e->pd, e->buf, sizeof(e->buf), IBV_ACCESS_LOCAL_WRITE);
	a.send_cq = e->cq;
	a.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &a);
	return e->mr && e->qp ? 0 : -1;
}

static void close_end(struct end *e)
{
	if (e->qp)
		ibv_destroy_qp(e->qp);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	if (e->cq)
		ibv_destroy_cq(e->cq);
	if (e->pd)
		ibv_dealloc_pd(e->pd);
	if (e->fd > 0)
		close(e->fd);
	memset(e, 0, sizeof(*e));
}

static int tcp_pair(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0), rc = -1;

	inet_pton(AF_INET, iwt_address, &a.sin_addr);
	ends[0].fd = socket(AF_INET, SOCK_STREAM, 0);
	if (!bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 1) &&
	    !getsockname(fd, (struct sockaddr *)&a, &len) &&
	    !connect(ends[0].fd, (struct sockaddr *)&a, sizeof(a))) {
		ends[1].fd = accept(fd, NULL, NULL);
		rc = ends[1].fd < 0 ? -1 : 0;
	}
	close(fd);
	return rc;
}

static int post(struct end *e, bool send)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, sizeof(e->buf), e->mr->lkey };
	struct ibv_recv_wr *bad_r, r = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad_s, s = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (!send)
		return ibv_post_recv(e->qp, &r, &bad_r);
	memset(e->buf, 0x35, sizeof(e->buf));
	return ibv_post_send(e->qp, &s, &bad_s);
}

static int initiate(struct end *e)
{
	struct iwtdv_conn_param p = { .ird = 4, .ord = 4, .timeout = 10000 };
	struct iwtdv_conn conn = {};

	return iwtdv_connect(e->qp, e->fd, &p, &conn);
}

static int respond(struct end *e)
{
	struct iwtdv_conn_param p = { .ird = 4, .ord = 4, .timeout = 10000 };
	struct iwtdv_request request = {};
	struct iwtdv_conn conn = {};
	int err;

	err = iwtdv_get_request(e->fd, NULL, 0, 10000, &request);
	return err ?: iwtdv_accept(e->qp, e->fd, &request, &p, &conn);
}

/* Moves a queue pair to INIT; then begin_direct() lets it connect directly. */
static int init(struct end *e)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	return ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

/* Lets @e connect to @peer, without a limit of time. Return: 0 or an error number. */
static int begin_direct(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num,
		.rq_psn = PSN, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1 } },
	};
	int err;

	if (ibv_query_gid(iwt_context, 1, 1, &a.ah_attr.grh.dgid))
		iwt_die("ibv_query_gid");
	err = ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	a = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS, .sq_psn = PSN, .max_rd_atomic = 1, .rnr_retry = 7,
	};
	return ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void *other_initiates(void *e)
{
	((struct end *)e)->err = initiate(e);
	return NULL;
}

static void *other_responds(void *e)
{
	((struct end *)e)->err = respond(e);
	return NULL;
}

static bool completes(struct end *e)
{
	struct patience p = {};
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(e->cq, 1, &wc);
		if (!n)
			usleep(100);
	} while (!n && patient(&p, WAIT, 0));
	return n == 1 && !wc.status;
}

/*
 * Sends a message from the initiator, because MPA requires the initiator to send first. Return:
 * 0, -1 or IWT_WRONG.
 */
static int message(void)
{
	static char want[sizeof(ends[0].buf)];

	memset(want, 0x35, sizeof(want));
	if (post(&ends[0], true))
		return -1;
	if (!completes(&ends[0]) || !completes(&ends[1])) {
		errno = ECONNRESET;
		return -1;
	}
	return memcmp(ends[1].buf, want, sizeof(want)) ? IWT_WRONG : 0;
}

int iwt_attach_end(void)
{
	int error = errno;

	close_end(&ends[0]);
	close_end(&ends[1]);
	errno = error;
	return 0;
}

static void ready(void)
{
	if (tcp_pair() || open_end(&ends[0]) || open_end(&ends[1]) || post(&ends[1], false))
		iwt_die("two ends");
}

/*
 * Attaches both ends, and sends a message. This thread attaches ends[@mine], and the @n-th
 * allocation of this thread fails.
 */
static int attach(int mine, unsigned int n)
{
	struct end *e = &ends[mine];
	unsigned int left;
	pthread_t other;
	int err;

	ready();
	if (pthread_create(&other, NULL, mine ? other_initiates : other_responds, &ends[!mine]))
		iwt_die("pthread_create");
	iwt_arm(n);
	err = mine ? respond(e) : initiate(e);
	left = iwt_pause();
	if (err)
		shutdown(e->fd, SHUT_RDWR);
	pthread_join(other, NULL);
	errno = err ?: ends[!mine].err;
	err = errno ? -1 : message();
	iwt_resume(left);
	return err;
}

int iwt_attach_initiator(unsigned int n) { return attach(0, n); }
int iwt_attach_responder(unsigned int n) { return attach(1, n); }

/* Attaches both ends, and sends a message. The caller has called iwt_arm() before. */
int iwt_attach_both(void)
{
	pthread_t other;
	int err;

	if (tcp_pair() || open_end(&ends[0]) || open_end(&ends[1]) || post(&ends[1], false)) {
		iwt_attach_end();
		return -1;
	}
	errno = pthread_create(&other, NULL, other_responds, &ends[1]);
	if (errno) {
		iwt_attach_end();
		return -1;
	}
	err = initiate(&ends[0]);
	if (err)
		shutdown(ends[0].fd, SHUT_RDWR);
	pthread_join(other, NULL);
	errno = err ?: ends[1].err;
	err = errno ? -1 : message();
	iwt_attach_end();
	return err;
}

static int open_both(void)
{
	if (open_end(&ends[0]) || open_end(&ends[1]))
		return -1;
	errno = init(&ends[0]) ?: init(&ends[1]);
	return errno ? -1 : 0;
}

/*
 * Connects both ends directly, and sends a message. Of the allocations in the system calls for
 * ends[@mine], the @n-th fails.
 */
static int direct(int mine, unsigned int n)
{
	unsigned int left;
	int err;

	if (open_both() || post(&ends[1], false))
		iwt_die("two ends");
	iwt_arm(n);
	err = begin_direct(&ends[mine], &ends[!mine]);
	left = iwt_pause();
	errno = err ?: begin_direct(&ends[!mine], &ends[mine]);
	err = errno ? -1 : message();
	iwt_resume(left);
	return err;
}

int iwt_direct_first(unsigned int n) { return direct(0, n); }
int iwt_direct_second(unsigned int n) { return direct(1, n); }

/*
 * Connects both ends directly, and sends a message, for which a receive is posted later: until
 * then, the stream waits. The caller has called iwt_arm() before.
 */
int iwt_direct_both(void)
{
	static char want[sizeof(ends[0].buf)];
	int err = -1;

	memset(want, 0x35, sizeof(want));
	if (open_both())
		goto out;
	errno = begin_direct(&ends[0], &ends[1]) ?: begin_direct(&ends[1], &ends[0]);
	if (errno || post(&ends[0], true))
		goto out;
	usleep(UNTIL_RECV);
	if (post(&ends[1], false))
		goto out;
	errno = ECONNRESET;
	if (!completes(&ends[0]) || !completes(&ends[1]))
		goto out;
	err = memcmp(ends[1].buf, want, sizeof(want)) ? IWT_WRONG : 0;
out:
	iwt_attach_end();
	return err;
}
