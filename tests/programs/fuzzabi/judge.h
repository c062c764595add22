/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The step iwt_op_judge() of iwt_fuzzabi, called a judge. In half of its runs, chosen at random,
 * the step connects two new queue pairs, gives the kernel one request, receive or index that is
 * wrong (the mistake), and checks that the mistake has no effect besides an error. In the other
 * runs the step calls iwt_judged_race() (3 of 10 runs) or iwt_judged_answers() (2 of 10). If the
 * process has several threads or is a child, the step does nothing.
 */
#ifndef FUZZABI_JUDGE_H
#define FUZZABI_JUDGE_H

#include "fuzzabi.h"

/*
 * The regions, each in the middle of a page. MINE and READ_ONLY belong to the protection domain
 * of the queue pairs, OTHERS belongs to another protection domain. READ_ONLY gives no rights to
 * the peer, and no right to write. Memory outside of the region MINE must not change.
 */
enum { MINE, OTHERS, READ_ONLY, REGIONS };
#define REGION_AT(n)	(JUDGED + (n) * PAGE + 0x400)
#define REGION_BYTES	0x400

/* The queue pairs of the sender and the receiver. Each has its own completion queue. */
enum { TX, RX };

#define JUDGED_WRS	16	/* entries of a queue, except in race.c */
#define JUDGED_SGES	2
#define JUDGED_RECV	64	/* bytes of a message */
#define JUDGED_FEW	4	/* entries of the completion queue, if it has to overflow */
#define WRONG_ID	0x57074e6	/* wr_id of the wrong request */

struct judged_wqe {
	struct iwt_send_wqe w;
	struct iwt_sge sge[JUDGED_SGES];
};

struct judge {
	struct fuzz *f;
	int ctx;
	uint32_t wrs;		/* entries of each queue */
	struct obj pd[2], cq[2], qp[2], mr[REGIONS];
	uint32_t seen[2];	/* number of completions read */
	uint32_t good[2], bad[2];	/* since the mistake: successful and failed completions */
	bool wrong_good;	/* the wrong request has completed with success */
	bool wrong_known;	/* the wrong request has completed */
	bool receives;		/* the correct request is a Send, and consumes a receive */
	bool no_request;	/* the mistake is not in a request */
	bool quiet;		/* no completion reports the end of the stream */
	bool keep;		/* the sender's completions are read, but stay in the queue */
	struct iwt_recv_wqe *recv;	/* the receive that is being posted */
	uint8_t was[JUDGED_BYTES];	/* contents of the memory JUDGED before the mistake */
};

/* Where a mistake is, and effects that the mistake may have */
enum {
	TOLD = 1 << 0,		/* the sender's request succeeds; only the peer refuses */
	TOUCHES = 1 << 1,	/* the region MINE changes */
	IN_RECV = 1 << 2,	/* the mistake is in a receive */
	IN_RING = 1 << 3,	/* the mistake is in an index */
	FILLS = 1 << 4,		/* the completion queue overflows; the Sends are correct */
	QUIET = 1 << 5,		/* no receive completes at the end of the stream */
};

struct wrong {
	const char *name;
	/* changes a correct request @w, or j->recv if @w is NULL, into a wrong one */
	void (*make)(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge);
	uint8_t ops[6];		/* operations to choose from, enum iwt_wr_opcode */
	uint8_t n_ops;
	uint8_t may;		/* bits: TOLD to QUIET */
};

extern const struct wrong iwt_wrongs[];
extern const uint32_t iwt_n_wrongs;

/* judge.c */
void iwt_judged_collect(struct judge *j);
void iwt_judged_right(struct judge *j, struct judged_wqe *q, uint8_t op);
void iwt_judged_post(struct judge *j, const void *wqe, size_t len);
void iwt_judged_pattern(struct judge *j);
bool iwt_judged_beyond(const struct judge *j);
void iwt_judged_say(struct judge *j, const char *name, const char *what);

/* bring.c: the connection, and its end */
bool iwt_judged_begin(struct judge *j, uint32_t cqe);
void iwt_judged_end(struct judge *j);
void iwt_judged_answers(struct judge *j);

/* race.c */
void iwt_judged_race(struct judge *j);

#endif
