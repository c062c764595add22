/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands for libibverbs and for the kernel behind it: the commands that the
 * provider gives end here, and the queues are memory that both sides map.
 */
#ifndef FAKE_H
#define FAKE_H

#include <infiniband/driver.h>
#include <rdma/iw_tcp-abi.h>

struct fake_ring {
	struct iwt_ring_ctl *ctl;
	uint8_t *entries;
	uint32_t num;
	uint32_t stride;
};

struct fake {
	/* given by the provider */
	const struct verbs_device_ops *driver;
	struct verbs_context_ops ops;
	uint64_t features_asked;

	/* told to the provider */
	uint64_t features;
	uint32_t first_index;
	uint32_t max_inline;
	bool no_answer;
	void (*spoil_cq)(struct iwt_create_cq_resp *resp);
	void (*spoil_qp)(struct iwt_create_qp_resp *resp);
	int doorbell_err;
	int arm_err;
	bool error_queue;	/* poll() always reports an error */
	/* of the ioctl methods, in turn: errors; then what is written */
	int attach_err[4];
	uint8_t frame[532];
	void (*on_doorbell)(void);
	void (*on_flush)(void);

	/* what became of it */
	unsigned int doorbells;
	unsigned int flushes;
	unsigned int arms;	/* by a call */
	uint32_t arm_flags;	/* of the last one */
	uint32_t arm_seen;	/* the word meanwhile */
	unsigned int polls;	/* with error_queue */
	struct ibv_moderate_cq moderation;
	unsigned int ioctls;
	uint16_t request_len, reply_len, private_data_len;
	int contexts, pds, mrs, cqs, qps;
	struct fake_ring cq, sq, rq;
	uint32_t next_qp_num;

	/* the memory that is shared */
	int fd;
	uint8_t *mem;
	size_t used;
};

extern struct fake fake;

/* A context of the provider over a fresh fake, and its end. */
struct ibv_context *fake_open(void);
/* The same, of a kernel that has these iwt_feature bits. */
struct ibv_context *fake_open_with(uint64_t features);
/* The two steps of it. */
void fake_begin(uint64_t features);
struct ibv_context *fake_context(void);
void fake_close(struct ibv_context *context);

struct ibv_cq *fake_make_cq(struct ibv_context *context, int cqe);
/* The queue pair has as many send as receive work requests. */
struct ibv_qp *fake_make_qp(struct ibv_context *context, struct ibv_cq *cq,
			    uint32_t wrs, uint64_t send_ops);
void fake_drop_qp(struct ibv_qp *qp);
/* Another answer: rings of entries with so much room behind the header. */
void fake_resize_qp(struct iwt_create_qp_resp *resp, uint32_t max_inline,
		    uint32_t recv_room);

void *fake_entry(const struct fake_ring *ring, uint32_t index);
/* Adds a completion to the completion queue made last. */
void fake_complete(const struct iwt_cqe *cqe);

#define FAKE_STRIDE		320
#define FAKE_MAX_SGE		4
/* Of a completion queue; that of a queue pair. */
#define FAKE_BITS		64
#define FAKE_BIT		37

#endif
