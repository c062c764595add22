/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake of libibverbs and the kernel: the provider's commands end here, and the queues are
 * memory that the fake and the provider both map.
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
	/* set by the provider */
	const struct verbs_device_ops *driver;
	struct verbs_context_ops ops;
	uint64_t features_asked;

	/* answers to the provider, and functions that the fake calls; NULL: not called */
	uint64_t features;
	uint32_t first_index;
	uint32_t max_inline;
	bool no_answer;
	int srq_modify_err;
	void (*spoil_cq)(struct iwt_create_cq_resp *resp);
	void (*spoil_qp)(struct iwt_create_qp_resp *resp);
	void (*spoil_srq)(struct iwt_create_srq_resp *resp);
	int doorbell_err;
	int mw_err;
	int arm_err;
	int resize_err;
	int tell_err;		/* error of IWT_METHOD_CQ_RESIZED, which ends a resize */
	void (*on_resize)(void);	/* called before the process gets the answer */
	/* called before and after the kernel's work in the command and the method of a resize */
	void (*before_step)(void);
	void (*after_step)(void);
	void (*spoil_resize)(struct iwt_resize_cq_resp *resp);
	bool error_queue;	/* poll() always reports an error */
	/* result of each call of the methods for delayed startup, in turn: 0 or an error */
	int attach_err[4];
	/* the startup frame that a successful method returns, for the provider to send */
	uint8_t frame[532];
	void (*on_doorbell)(void);
	void (*on_flush)(void);
	void (*on_srq_modify)(void);
	void (*on_load)(const void *word);	/* called before the process reads @word */

	/* what the provider has done */
	unsigned int doorbells;
	unsigned int srq_doorbells;
	unsigned int flushes;
	unsigned int arms;	/* number of calls that request events */
	uint32_t arm_flags;	/* flags of the last such call */
	uint32_t arm_seen;	/* the arm word of the ring at the time of the last such call */
	unsigned int told;	/* number of calls of IWT_METHOD_CQ_RESIZED */
	unsigned int polls;	/* number of calls of poll() with error_queue */
	struct ibv_moderate_cq moderation;
	unsigned int ioctls;
	struct iwt_mpa_param mpa_param;	/* of the last method for delayed startup that has it */
	uint16_t request_len, reply_len, private_data_len;
	int contexts, pds, mrs, mws, cqs, qps, srqs;
	struct fake_ring cq, sq, rq;
	struct fake_ring cq_first;	/* the completion queue as it was created */
	struct fake_ring cq_next;	/* the new ring during a resize; else ctl is NULL */
	/* the ring of the newest shared receive queue, and the new ring during a resize */
	struct fake_ring srq, new_srq;
	unsigned int srq_modified;
	uint32_t srq_limit;
	uint32_t next_qp_num;

	/* the memory that the fake and the provider share */
	int fd;
	uint8_t *mem;
	size_t used;
};

extern struct fake fake;

/* Begins with a new fake, and opens a context of the provider. fake_close() undoes both. */
struct ibv_context *fake_open(void);
/* Like fake_open(), with a kernel that supports the @features (bits of enum iwt_feature). */
struct ibv_context *fake_open_with(uint64_t features);
/* The two steps of fake_open_with(): fake_begin() and then fake_context(). */
void fake_begin(uint64_t features);
struct ibv_context *fake_context(void);
void fake_close(struct ibv_context *context);

struct ibv_cq *fake_make_cq(struct ibv_context *context, int cqe);
/*
 * Makes a queue pair for @wrs send and @wrs receive work requests. If @send_ops is not 0, the
 * queue pair is extended (struct ibv_qp_ex), with these operations (IBV_QP_EX_WITH_*).
 */
struct ibv_qp *fake_make_qp(struct ibv_context *context, struct ibv_cq *cq,
			    uint32_t wrs, uint64_t send_ops);
void fake_drop_qp(struct ibv_qp *qp);
/*
 * Replaces both rings of the newest queue pair, and changes its answer @resp accordingly. After
 * its header, each entry of the send ring has @max_inline bytes, and each entry of the receive
 * ring has @recv_room bytes.
 */
void fake_resize_qp(struct iwt_create_qp_resp *resp, uint32_t max_inline,
		    uint32_t recv_room);

void *fake_entry(const struct fake_ring *ring, uint32_t index);
/* Adds a completion to the newest completion queue. */
void fake_complete(const struct iwt_cqe *cqe);

/* Declarations for the source files of the fake only */
#define FAKE_MEMORY	(16u << 20)

struct ibv_command_buffer;

/*
 * Return: the driver's part of the command or answer @resp, which follows the RDMA core's part
 * of @core_size bytes
 */
void *fake_answer(void *resp, size_t core_size, size_t resp_size, size_t size);
uint64_t fake_make_ring(struct fake_ring *ring, uint32_t num, uint32_t stride,
			uint64_t *length);
uint32_t fake_round_up(uint32_t num);
uint64_t fake_attr_data(struct ibv_command_buffer *cmd, uint16_t id);
uint32_t fake_attr_u32(struct ibv_command_buffer *cmd, uint16_t id);
int fake_cq_method(struct ibv_command_buffer *cmd);
int fake_srq_method(struct ibv_command_buffer *cmd);

#define FAKE_STRIDE		320
#define FAKE_MAX_SGE		4
/* The rkey of a new memory window. Its key byte, 0xff, is the last before the key wraps to 0. */
#define FAKE_MW_RKEY		0x112233ff
/* posted_bits of each completion queue, and send_bit of each queue pair */
#define FAKE_BITS		64
#define FAKE_BIT		37

#endif
