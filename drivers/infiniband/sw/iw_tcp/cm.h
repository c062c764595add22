/* SPDX-License-Identifier: GPL-2.0 */
/* Connection management operations for iw_cm. */
#ifndef IWT_CM_H
#define IWT_CM_H

#include <linux/types.h>

struct iw_cm_conn_param;
struct iw_cm_id;
struct iwt_dev;
struct iwt_mpa_terms;
struct iwt_qp;

/* Operations of struct ib_device_ops. */
int iwt_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iwt_cm_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iwt_cm_reject(struct iw_cm_id *id, const void *pd, u8 pd_len);
int iwt_cm_create_listen(struct iw_cm_id *id, int backlog);
int iwt_cm_destroy_listen(struct iw_cm_id *id);

/**
 * struct iwt_delayed - request of a process to switch its TCP socket to RDMA (delayed startup)
 * @dev: device
 * @qp: queue pair; the caller holds a reference
 * @fd: descriptor of the socket
 * @ird: maximum number of inbound RDMA Reads at a time, as the process requests
 * @ord: maximum number of outbound RDMA Reads at a time, as the process requests
 * @plain: use MPA revision 1
 * @request: the whole Request, which an initiator has sent, or a responder has received
 * @request_len: length of @request in bytes
 * @reply: initiator: the whole Reply, which the peer has sent; responder: NULL
 * @reply_len: length of @reply in bytes
 * @pd: private data for the peer
 * @pd_len: length of @pd in bytes
 *
 * Members that a function does not need are 0 or NULL: iwt_cm_delayed_request() needs no frames,
 * and iwt_cm_delayed_reject() needs only @dev, and @request and @pd with their lengths.
 */
struct iwt_delayed {
	struct iwt_dev *dev;
	struct iwt_qp *qp;
	int fd;
	u32 ird;
	u32 ord;
	bool plain;
	const u8 *request;
	u32 request_len;
	const u8 *reply;
	u32 reply_len;
	const u8 *pd;
	u32 pd_len;
};

/* Delayed startup, on the socket of a process (cm_delayed.c). */
#ifdef CONFIG_INFINIBAND_IW_TCP_DELAYED
int iwt_cm_delayed_init(void);
void iwt_cm_delayed_exit(void);
#else
static inline int iwt_cm_delayed_init(void) { return 0; }
static inline void iwt_cm_delayed_exit(void) {}
#endif
int iwt_cm_delayed_request(const struct iwt_delayed *a, u8 *frame);
int iwt_cm_delayed_reject(const struct iwt_delayed *a, u8 *frame);
int iwt_cm_delayed_start(const struct iwt_delayed *a, struct iwt_mpa_terms *terms);

/* cm_caller.c. Return: true if the running task may use @qp in a call of rdma_cm. */
bool iwt_cm_may_name(const struct iwt_qp *qp);

/* Call before a queue pair is destroyed: aborts the connections of the queue pair (cm.c). */
void iwt_cm_qp_abandon(struct iwt_qp *qp);

/* Call when a device has no clients any more: ends all connections of the device. May sleep. */
void iwt_cm_dev_drain(struct iwt_dev *dev);

/* Module init and exit; iwt_cm_exit() waits until every endpoint has run its last work. */
int iwt_cm_init(void);
void iwt_cm_exit(void);

#endif
