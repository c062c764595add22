// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MPA startup on a socket of the program. This file receives the frames of the peer, and sends
 * Requests, and Replies that reject a Request, with the rights of the program. The kernel
 * composes and checks all frames, and sends the Replies that accept a Request (see
 * rdma/iw_tcp-abi.h). This file never reads bytes after a frame.
 */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <time.h>

#include <infiniband/cmd_ioctl.h>

#include "iw_tcp.h"
#include "iw_tcp_abi.h"

/* programs may call the functions of this header; a compiler option hides all other symbols */
#pragma GCC visibility push(default)
#include "iwtdv.h"
#pragma GCC visibility pop

#define IWT_FRAME_HDR		20
#define IWT_FRAME_MAX		(IWT_FRAME_HDR + IWTDV_MAX_PRIVATE_DATA)
#define IWT_KEY_LEN		16
#define IWT_FLAG_REJECT		0x20
#define IWT_FLAG_ENHANCED	0x10
/* Milliseconds. */
#define IWT_DEFAULT_TIMEOUT	15000
#define IWT_PAUSE		5

static const char iwt_key_req[] = "MPA ID Req Frame";
static const char iwt_key_rep[] = "MPA ID Rep Frame";

/* A startup frame, or its first bytes. */
struct iwt_frame {
	uint8_t octets[IWT_FRAME_MAX];
	size_t len;
};

static int64_t iwt_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t iwt_deadline(int timeout)
{
	return iwt_now() + (timeout > 0 ? timeout : IWT_DEFAULT_TIMEOUT);
}

/*
 * Sleeps for IWT_PAUSE milliseconds, but at most for @left milliseconds. poll() returns POLLERR
 * immediately while the error queue of the socket is not empty (SO_TIMESTAMPING, IP_RECVERR).
 * Only the program may read the error queue, and its entries are not related to the events for
 * which poll() waits. So this function sleeps instead. The caller then repeats its system
 * call, which also reports an error of the connection itself.
 */
static void iwt_pause(int64_t left)
{
	struct timespec ts = {
		.tv_nsec = left <= 0 ? 0 : (left < IWT_PAUSE ? left : IWT_PAUSE) * 1000000,
	};

	nanosleep(&ts, NULL);
}

/*
 * Waits until @events may have occurred. A startup has one deadline, which received bytes do not
 * extend (RFC 5044 7.1.2 rule 10). Returns 0, ETIMEDOUT after the deadline, or another errno
 * value.
 */
static int iwt_wait(int fd, short events, int64_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int64_t left = deadline - iwt_now();
	int ret;

	do {
		ret = poll(&pfd, 1, left > 0 ? left : 0);
		if (ret < 0 && errno != EINTR)
			return errno;
		left = deadline - iwt_now();
		if (!ret || left <= 0)
			return ETIMEDOUT;
	} while (ret < 0);
	if (pfd.revents == POLLERR)
		iwt_pause(left);

	return 0;
}

/*
 * Must a method that has returned @err be called again? After EAGAIN and EINTR the socket is
 * unchanged. EAGAIN: TCP's send buffer has no room for a frame. EINTR: another thread was in a
 * system call on the socket, and a signal ended the wait for the end of that call.
 */
static bool iwt_must_repeat(int err)
{
	return err == EAGAIN || err == EINTR;
}

/*
 * Waits before a method is called again. poll() may return although the send buffer has less room
 * than the kernel needs, so this function also sleeps.
 */
static int iwt_wait_room(int fd, int64_t deadline)
{
	int ret = iwt_wait(fd, POLLOUT, deadline);

	if (!ret)
		iwt_pause(deadline - iwt_now());

	return ret;
}

static int iwt_send(int fd, const void *buf, size_t len, int64_t deadline)
{
	const uint8_t *p = buf;
	ssize_t n;
	int ret;

	while (len) {
		n = send(fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			p += n;
			len -= n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return errno;
		ret = iwt_wait(fd, POLLOUT, deadline);
		if (ret)
			return ret;
	}

	return 0;
}

static uint16_t iwt_get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

/*
 * Returns the length of the frame in bytes; as long as the header is not complete, the length of
 * the header; 0 if the received bytes are not a frame.
 */
static size_t iwt_frame_need(const struct iwt_frame *f, const char *key)
{
	size_t known = f->len < IWT_KEY_LEN ? f->len : IWT_KEY_LEN;
	uint16_t pd;

	if (memcmp(f->octets, key, known))
		return 0;
	if (f->len < IWT_FRAME_HDR)
		return IWT_FRAME_HDR;
	pd = iwt_get16(f->octets + IWT_FRAME_HDR - 2);

	return pd > IWTDV_MAX_PRIVATE_DATA ? 0 : IWT_FRAME_HDR + (size_t)pd;
}

static int iwt_recv_some(int fd, struct iwt_frame *f, size_t need,
			 int64_t deadline)
{
	ssize_t n;

	n = recv(fd, f->octets + f->len, need - f->len, MSG_DONTWAIT);
	if (n > 0) {
		f->len += n;
		return 0;
	}
	if (!n)
		return ECONNRESET;
	if (errno == EINTR)
		return 0;
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return errno;

	return iwt_wait(fd, POLLIN, deadline);
}

static int iwt_recv_frame(int fd, const char *key, struct iwt_frame *f,
			  int64_t deadline)
{
	size_t need;
	int ret;

	f->len = 0;
	for (;;) {
		need = iwt_frame_need(f, key);
		if (!need)
			return EPROTO;
		if (f->len == need)
			return 0;
		ret = iwt_recv_some(fd, f, need, deadline);
		if (ret)
			return ret;
	}
}

/*
 * After an invalid frame, or if no frame has arrived before the deadline, the connection must not
 * be used any more (RFC 5044 7.1.2 rules 2, 3, 5 and 10): then shut it down. Returns @err.
 */
static int iwt_end_startup(int fd, int err)
{
	if (err == EPROTO || err == ETIMEDOUT)
		shutdown(fd, SHUT_RDWR);

	return err;
}

static int iwt_check_socket(int fd)
{
	int protocol;
	socklen_t len = sizeof(protocol);

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		return errno;

	return protocol == IPPROTO_TCP ? 0 : EPROTOTYPE;
}

static bool iwt_is_ours(const struct ibv_context *context)
{
	return iwtdv_is_supported(context->device);
}

static int iwt_check_param(const struct iwtdv_conn_param *param)
{
	if (param->comp_mask || param->reserved ||
	    param->flags & ~(uint32_t)IWTDV_CONN_PLAIN)
		return EOPNOTSUPP;
	if (param->private_data_len > IWTDV_MAX_PRIVATE_DATA)
		return EINVAL;

	return 0;
}

/* Calls a method. Returns 0 or an errno value: EOPNOTSUPP if the module lacks the method. */
static int iwt_ioctl(struct ibv_context *context,
		     struct ibv_command_buffer *cmd)
{
	int ret = execute_ioctl(context, cmd);

	return ret == EPROTONOSUPPORT ? EOPNOTSUPP : ret;
}

/* Sets the attributes that IWT_METHOD_MPA_REQUEST and IWT_METHOD_MPA_START have in common. */
static void iwt_fill(struct ibv_command_buffer *cmd, const struct ibv_qp *qp,
		     int fd, const struct iwtdv_conn_param *param,
		     struct iwt_mpa_param *kernel)
{
	*kernel = (struct iwt_mpa_param) {
		.ird = param->ird,
		.ord = param->ord,
		.flags = param->flags & IWTDV_CONN_PLAIN ? IWT_MPA_PLAIN : 0,
	};
	fill_attr_in_obj(cmd, IWT_ATTR_MPA_QP, qp->handle);
	fill_attr_in_fd(cmd, IWT_ATTR_MPA_FD, fd);
	fill_attr_in(cmd, IWT_ATTR_MPA_PARAM, kernel, sizeof(*kernel));
}

static int iwt_make_request(struct ibv_qp *qp, int fd,
			    const struct iwtdv_conn_param *param,
			    struct iwt_frame *req)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, IWT_METHOD_MPA_REQUEST,
			       5);
	struct iwt_mpa_param kernel;
	int ret;

	/* the kernel would return EBADF, but rdma-core does not pass -1 to the kernel */
	if (fd == -1)
		return EBADF;
	iwt_fill(cmd, qp, fd, param, &kernel);
	if (param->private_data_len)
		fill_attr_in(cmd, IWT_ATTR_MPA_PRIVATE_DATA,
			     param->private_data, param->private_data_len);
	fill_attr_out(cmd, IWT_ATTR_MPA_FRAME, req->octets, IWT_FRAME_MAX);
	ret = iwt_ioctl(qp->context, cmd);
	if (ret)
		return ret;
	req->len = IWT_FRAME_HDR;
	req->len = iwt_frame_need(req, iwt_key_req);

	return req->len ? 0 : EPROTO;
}

static uint32_t iwt_conn_flags(uint32_t flags)
{
	return (flags & IWT_MPA_CRC ? IWTDV_CONN_CRC : 0) |
	       (flags & IWT_MPA_TX_MARKERS ? IWTDV_CONN_TX_MARKERS : 0) |
	       (flags & IWT_MPA_RX_MARKERS ? IWTDV_CONN_RX_MARKERS : 0) |
	       (flags & IWT_MPA_ENHANCED ? IWTDV_CONN_ENHANCED : 0);
}

/* Switches the socket to RDMA. @rep: the received Reply of an initiator; NULL for a responder. */
static int iwt_mpa_start(struct ibv_qp *qp, int fd,
		      const struct iwtdv_conn_param *param,
		      const void *req, size_t req_len,
		      const struct iwt_frame *rep, struct iwtdv_conn *conn)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, IWT_METHOD_MPA_START,
			       6);
	struct iwt_mpa_result result = {};
	struct iwt_mpa_param kernel;
	int ret;

	if (fd == -1)
		return EBADF;
	iwt_fill(cmd, qp, fd, param, &kernel);
	fill_attr_in(cmd, IWT_ATTR_MPA_REQUEST, req, req_len);
	if (rep)
		fill_attr_in(cmd, IWT_ATTR_MPA_REPLY, rep->octets, rep->len);
	else if (param->private_data_len)
		fill_attr_in(cmd, IWT_ATTR_MPA_PRIVATE_DATA,
			     param->private_data, param->private_data_len);
	fill_attr_out(cmd, IWT_ATTR_MPA_RESULT, &result, sizeof(result));
	ret = iwt_ioctl(qp->context, cmd);
	if (ret)
		return ret;
	conn->flags = iwt_conn_flags(result.flags);
	conn->ird = result.ird;
	conn->ord = result.ord;

	return 0;
}

/*
 * As iwt_mpa_start(), but repeats the method, until @deadline, as long as iwt_must_repeat() says
 * so.
 */
static int iwt_mpa_start_wait(struct ibv_qp *qp, int fd,
			   const struct iwtdv_conn_param *param,
			   const void *req, size_t req_len,
			   const struct iwt_frame *rep, int64_t deadline,
			   struct iwtdv_conn *conn)
{
	int ret;

	for (;;) {
		ret = iwt_mpa_start(qp, fd, param, req, req_len, rep, conn);
		if (!iwt_must_repeat(ret))
			return ret;
		ret = iwt_wait_room(fd, deadline);
		if (ret)
			return ret;
	}
}

/* Returns the offset of the private data, which follow IRD and ORD if the frame is enhanced. */
static uint16_t iwt_pd_offset(const uint8_t *frame, size_t len)
{
	bool enhanced = frame[17] >= 2 && frame[16] & IWT_FLAG_ENHANCED &&
			len >= IWT_FRAME_HDR + 4;

	return IWT_FRAME_HDR + (enhanced ? 4 : 0);
}

static void iwt_give_private_data(const struct iwt_frame *rep,
				  struct iwtdv_conn *conn)
{
	uint16_t offset = iwt_pd_offset(rep->octets, rep->len);

	conn->private_data_len = rep->len - offset;
	memcpy(conn->private_data, rep->octets + offset,
	       conn->private_data_len);
}

/*
 * A program that was built with an older header has a shorter structure, and a program that was
 * built with a newer header has a longer structure. So the library always sets the members of the
 * first version. It will set a later member only if the program has set the member's bit in
 * comp_mask. On return comp_mask has the bits of the later members that the library has set.
 */
static void iwt_clear_conn(struct iwtdv_conn *conn)
{
	conn->comp_mask = 0;
	conn->flags = 0;
	conn->ird = 0;
	conn->ord = 0;
	conn->private_data_len = 0;
	memset(conn->private_data, 0, sizeof(conn->private_data));
}

static void iwt_clear_request(struct iwtdv_request *request)
{
	request->comp_mask = 0;
	request->ird = 0;
	request->ord = 0;
	request->private_data_len = 0;
	request->private_data_offset = 0;
	request->frame_len = 0;
	memset(request->frame, 0, sizeof(request->frame));
}

bool iwtdv_is_supported(struct ibv_device *device)
{
	return iwt_is_iw_tcp(device);
}

int iwtdv_connect(struct ibv_qp *qp, int sockfd,
		  const struct iwtdv_conn_param *param,
		  struct iwtdv_conn *conn)
{
	struct iwt_frame req, rep;
	int64_t deadline;
	int ret;

	if (!iwt_is_ours(qp->context))
		return EOPNOTSUPP;
	ret = iwt_check_param(param);
	if (ret)
		return ret;
	iwt_clear_conn(conn);
	deadline = iwt_deadline(param->timeout);

	for (;;) {
		ret = iwt_make_request(qp, sockfd, param, &req);
		if (!iwt_must_repeat(ret))
			break;
		ret = iwt_wait_room(sockfd, deadline);
		if (ret)
			return iwt_end_startup(sockfd, ret);
	}
	if (ret)
		return ret;
	ret = iwt_send(sockfd, req.octets, req.len, deadline);
	if (!ret)
		ret = iwt_recv_frame(sockfd, iwt_key_rep, &rep, deadline);
	if (ret)
		return iwt_end_startup(sockfd, ret);

	iwt_give_private_data(&rep, conn);
	if (rep.octets[16] & IWT_FLAG_REJECT)
		return ECONNREFUSED;
	ret = iwt_mpa_start_wait(qp, sockfd, param, req.octets, req.len, &rep,
			      deadline, conn);
	/* the peer is already in RDMA mode: the socket can't be used for other data */
	if (ret)
		shutdown(sockfd, SHUT_RDWR);

	return ret;
}

int iwtdv_get_request(int sockfd, const void *last_message, size_t length,
		      int timeout, struct iwtdv_request *request)
{
	int64_t deadline = iwt_deadline(timeout);
	struct iwt_frame req;
	uint16_t offset;
	int ret;

	iwt_clear_request(request);
	ret = iwt_check_socket(sockfd);
	if (ret)
		return ret;
	ret = iwt_send(sockfd, last_message, length, deadline);
	if (!ret)
		ret = iwt_recv_frame(sockfd, iwt_key_req, &req, deadline);
	if (ret)
		return iwt_end_startup(sockfd, ret);

	offset = iwt_pd_offset(req.octets, req.len);
	request->ird = IWTDV_DEPTH_ANY;
	request->ord = IWTDV_DEPTH_ANY;
	if (offset > IWT_FRAME_HDR) {
		request->ird &= iwt_get16(req.octets + IWT_FRAME_HDR);
		request->ord &= iwt_get16(req.octets + IWT_FRAME_HDR + 2);
	}
	request->private_data_offset = offset;
	request->private_data_len = req.len - offset;
	request->frame_len = req.len;
	memcpy(request->frame, req.octets, req.len);

	return 0;
}

static int iwt_check_request(const struct iwtdv_request *request)
{
	return request->frame_len < IWT_FRAME_HDR ||
	       request->frame_len > IWT_FRAME_MAX ? EINVAL : 0;
}

int iwtdv_accept(struct ibv_qp *qp, int sockfd,
		 const struct iwtdv_request *request,
		 const struct iwtdv_conn_param *param,
		 struct iwtdv_conn *conn)
{
	int ret;

	if (!iwt_is_ours(qp->context))
		return EOPNOTSUPP;
	ret = iwt_check_param(param);
	if (!ret)
		ret = iwt_check_request(request);
	if (ret)
		return ret;
	iwt_clear_conn(conn);
	ret = iwt_mpa_start_wait(qp, sockfd, param, request->frame,
			      request->frame_len, NULL,
			      iwt_deadline(param->timeout), conn);

	return iwt_end_startup(sockfd, ret);
}

int iwtdv_reject(struct ibv_context *context, int sockfd,
		 const struct iwtdv_request *request,
		 const void *private_data, uint16_t private_data_len)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       IWT_METHOD_MPA_REJECT, 3);
	struct iwt_frame rep;
	int ret;

	if (!iwt_is_ours(context))
		return EOPNOTSUPP;
	ret = iwt_check_request(request);
	if (ret)
		return ret;
	if (private_data_len > IWTDV_MAX_PRIVATE_DATA)
		return EINVAL;
	if (private_data_len)
		fill_attr_in(cmd, IWT_ATTR_MPA_PRIVATE_DATA, private_data,
			     private_data_len);
	fill_attr_in(cmd, IWT_ATTR_MPA_REQUEST, request->frame,
		     request->frame_len);
	fill_attr_out(cmd, IWT_ATTR_MPA_FRAME, rep.octets, IWT_FRAME_MAX);
	ret = iwt_ioctl(context, cmd);
	if (ret)
		return iwt_end_startup(sockfd, ret);
	rep.len = IWT_FRAME_HDR;
	rep.len = iwt_frame_need(&rep, iwt_key_rep);
	if (!rep.len)
		return EPROTO;

	return iwt_send(sockfd, rep.octets, rep.len,
			iwt_deadline(0));
}
