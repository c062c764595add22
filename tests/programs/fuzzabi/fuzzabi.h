/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the parts of iwt_fuzzabi share. */
#ifndef FUZZABI_H
#define FUZZABI_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include <rdma/iw_tcp-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "list.h"

#define MOST_ERRNO	140
#define CONTEXTS	3
#define PER_KIND	10
#define THREADS		4

/*
 * Addresses of the memory that most calls pass to the kernel, far from the program's other
 * memory. Only the step iwt_op_judge() (judge.h) uses the memory JUDGED and the rings at
 * JUDGED_RINGS.
 */
#define ARENA		0x2000000000ull
#define PAGE		4096ull
#define DATA_BYTES	(64 * PAGE)
#define DATA		ARENA
#define OUT		(ARENA + (1ull << 20))	/* answers, requests: OUT_ROOM for each thread */
#define OUT_ROOM	0x30000
#define OUT_REQUEST	0x28000
#define ODD		(ARENA + (2ull << 20))	/* pages of iwt_odd_pages() */
#define ODD_PAGES	8
#define JUDGED		(ARENA + (3ull << 20))
#define JUDGED_BYTES	(3 * PAGE)
#define JUDGED_RINGS	(ARENA + (4ull << 20))
#define RINGS		(ARENA + (16ull << 20))
#define RING_ROOM	(2ull << 20)
#define RING_ROOMS	(4 * PER_KIND)	/* the addresses that are reserved for rings (world.c) */

enum kind { PD, CQ, QP, MR, MW, SRQ, CHANNEL, SOCKET, CM_ID, KINDS };

struct ring {
	uint8_t *at;
	size_t len;
	uint64_t off;
	uint32_t entries, stride;
};

struct obj {
	bool live;
	int ctx;
	uint32_t handle;	/* for kinds without a handle: a descriptor */
	uint32_t num;		/* QP: number; MR, MW: STag; CM_ID: number of the rdma_cm_id */
	uint32_t pd;		/* QP, MR, MW, SRQ: handle of the protection domain */
	bool connected;		/* QP: connected, and no completion has reported a flush */
	uint64_t addr;		/* MR: address and length */
	uint32_t bytes;
	struct ring ring[2];
};

/*
 * State of a process. The threads of the process use the state without locks, so a thread may use
 * the handle of an object that another thread has already destroyed.
 */
struct world {
	const char *device;
	int ctx[CONTEXTS];
	int listener;
	struct sockaddr_in address;
	struct obj obj[KINDS][PER_KIND];
	volatile bool stop;
	bool alone;		/* the process has one thread */
	uint64_t *steps;	/* counts the steps of this process */
};

/* State of a thread */
struct fuzz {
	struct world *w;
	uint64_t seed, rnd;
	int thread;
	int hot;		/* percentage of calls that are mutated */
	bool child;
	uint8_t *out;
};

#define WORKERS		3	/* rounds that run at the same time */

struct tally {
	uint64_t rounds, killed, faults, wrongs;
	uint64_t steps[WORKERS];	/* of all rounds of each worker */
	char wrong[120];	/* the last mistake that had an effect (judge.h) */
	uint32_t n[METHODS][MOST_ERRNO];
};

struct ib_uverbs_ex_modify_qp;

extern struct tally *iwt_tally;
extern __thread sigjmp_buf iwt_guard;
extern __thread volatile bool iwt_guarded;

/* mutate.c */
uint64_t iwt_rnd(struct fuzz *f);
uint32_t iwt_below(struct fuzz *f, uint32_t n);
bool iwt_chance(struct fuzz *f, int percent);
void iwt_op_seed(struct fuzz *f, uint64_t n);
uint64_t iwt_value(struct fuzz *f);
uint64_t iwt_pointer(struct fuzz *f);
bool iwt_hot(struct fuzz *f);
void iwt_mutate(struct fuzz *f, void *at, size_t len);
void iwt_count(enum method m, int err);

/* world.c */
struct obj *iwt_pick(struct fuzz *f, enum kind k, int ctx);
struct obj *iwt_new(struct fuzz *f, enum kind k, int ctx, uint32_t handle);
int iwt_fd(const struct world *w, const struct obj *o);
void iwt_map_at(struct fuzz *f, struct obj *o, int which, uint64_t at);
void iwt_map(struct fuzz *f, struct obj *o, int which);
bool iwt_open(struct fuzz *f, int n);
bool iwt_begin(struct fuzz *f);
void iwt_odd_pages(void);

/* dmabuf.c */
void iwt_op_dmabuf(struct fuzz *f);

/*
 * command.c: commands of uverbs by write(2). @core, @answer_len: the request to RDMA core and the
 * length of its answer; @private, @private_answer: the same for the driver
 */
struct command {
	enum method m;
	uint32_t number;
	bool ex;
	const void *core, *private;
	size_t core_len, answer_len, private_len, private_answer;
};

int iwt_command(struct fuzz *f, int fd, const struct command *c);

/* ioctl.c: methods of ioctl(2) */
struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[16];
	enum method m;
	int n;
};

void iwt_call(struct call *c, enum method m, uint16_t object, uint16_t method);
void iwt_in(struct call *c, uint16_t id, const void *at, size_t len);
void iwt_out(struct call *c, uint16_t id, void *at, size_t len);
struct ib_uverbs_attr *iwt_handle(struct call *c, uint16_t id, int64_t handle);
int iwt_send(struct fuzz *f, int fd, struct call *c);

/* Steps of a thread. The list of all steps is in ops.c. */
void iwt_op_context(struct fuzz *f);
void iwt_op_query(struct fuzz *f);
void iwt_op_pd(struct fuzz *f);
void iwt_op_channel(struct fuzz *f);
void iwt_op_cq(struct fuzz *f);
void iwt_op_modify_cq(struct fuzz *f);
void iwt_op_resize_cq(struct fuzz *f);
void iwt_op_qp(struct fuzz *f);
void iwt_op_modify_qp(struct fuzz *f);
void iwt_op_query_qp(struct fuzz *f);
void iwt_op_srq(struct fuzz *f);
void iwt_op_modify_srq(struct fuzz *f);
void iwt_op_query_srq(struct fuzz *f);
void iwt_op_resize_srq(struct fuzz *f);
void iwt_op_srq_recv(struct fuzz *f);
void iwt_op_mr(struct fuzz *f);
void iwt_op_rereg(struct fuzz *f);
void iwt_op_mw(struct fuzz *f);
void iwt_op_destroy(struct fuzz *f);
void iwt_op_any_command(struct fuzz *f);
void iwt_op_methods(struct fuzz *f);
void iwt_op_any_method(struct fuzz *f);
void iwt_op_doorbell(struct fuzz *f);
void iwt_op_send(struct fuzz *f);
void iwt_op_recv(struct fuzz *f);
void iwt_op_poll(struct fuzz *f);
void iwt_op_scribble(struct fuzz *f);
void iwt_op_judge(struct fuzz *f);
void iwt_op_attach(struct fuzz *f);
void iwt_op_pair(struct fuzz *f);
void iwt_op_direct(struct fuzz *f);
void iwt_op_direct_pair(struct fuzz *f);
void iwt_op_frames(struct fuzz *f);
void iwt_op_sockets(struct fuzz *f);
void iwt_op_cm(struct fuzz *f);
void iwt_op_any_cm(struct fuzz *f);
void iwt_op_maps(struct fuzz *f);
void iwt_op_remap(struct fuzz *f);
void iwt_op_files(struct fuzz *f);
void iwt_op_fork(struct fuzz *f);

/* helpers of the steps */
static inline struct iwt_ring_ctl *iwt_ctl(const struct ring *r)
{
	return (struct iwt_ring_ctl *)r->at;
}

static inline uint8_t *iwt_slot(const struct ring *r, uint32_t idx)
{
	return r->at + IWT_RING_CTL_SIZE + (size_t)(idx & (r->entries - 1)) * r->stride;
}

void iwt_fill_cq(struct obj *o, const void *private);
void iwt_fill_qp(struct obj *o, const void *private);
void iwt_allow_all(struct fuzz *f, const struct obj *qp);
bool iwt_modify_qp(struct fuzz *f, const struct obj *qp, struct ib_uverbs_ex_modify_qp *core);
void iwt_destroy(struct fuzz *f, enum kind k, struct obj *o);
void iwt_ring_bell(struct fuzz *f, const struct obj *qp);
bool iwt_attach(struct fuzz *f, struct obj *from, struct obj *to);
struct obj *iwt_make_qp(struct fuzz *f);
struct obj *iwt_some_pd(struct fuzz *f);
void iwt_post_recvs(struct fuzz *f, struct obj *qp, uint32_t n);

/* ops.c */
void iwt_guarded_step(struct fuzz *f, void (*what)(struct fuzz *f));
void iwt_step(struct fuzz *f);
void iwt_fuzz_thread(struct fuzz *f, uint64_t ops);

/* round.c: one process, from its start to its end */
struct round {
	uint64_t seed, ops;
	int threads;
	bool small, killed;
	uint64_t *steps;	/* shared memory that counts the steps of the round */
};

void iwt_round(const char *device, struct in_addr address, const struct round *r,
	       const char *group);

#endif
