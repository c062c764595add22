/* SPDX-License-Identifier: GPL-2.0 */
/* A connection on which one thing is wrong, and what must not come of it. */
#ifndef FUZZABI_JUDGE_H
#define FUZZABI_JUDGE_H

#include "fuzzabi.h"

/* The regions, each in the middle of a page: all of @JUDGED_BYTES else is nobody's. */
enum { MINE, OTHERS, READ_ONLY, REGIONS };
#define REGION_AT(n)	(JUDGED + (n) * PAGE + 0x400)
#define REGION_BYTES	0x400

/* The sender's queue pair and the receiver's; each has a completion queue of its own. */
enum { TX, RX };

#define JUDGED_WRS	16	/* that a queue has room for */
#define JUDGED_SGES	2
#define JUDGED_RECV	64	/* octets of a message */
#define JUDGED_FEW	4	/* that a completion queue has room for which is to be full */
#define WRONG_ID	0x57074e6

struct judged_wqe {
	struct iwt_send_wqe w;
	struct iwt_sge sge[JUDGED_SGES];
};

struct judge {
	struct fuzz *f;
	int ctx;
	uint32_t wrs;		/* that each queue has room for */
	struct obj pd[2], cq[2], qp[2], mr[REGIONS];
	uint32_t seen[2];	/* completions taken */
	uint32_t good[2], bad[2];	/* of them, since the wrong was done */
	bool wrong_good;	/* the wrong request was said to have gone well */
	bool wrong_known;	/* or not */
	bool receives;		/* what is right is a message */
	bool no_request;	/* what is wrong is none */
	bool quiet;		/* no completion tells of the end */
	bool keep;		/* completions are looked at, but remain in the queue */
	struct iwt_recv_wqe *recv;	/* the receive that is being made */
	uint8_t was[JUDGED_BYTES];	/* what its memory was before */
};

/* What the wrong one may do nevertheless */
enum {
	TOLD = 1 << 0,		/* the sender hears of success: it is the peer that refuses */
	TOUCHES = 1 << 1,	/* the region MINE changes */
	IN_RECV = 1 << 2,	/* the receive is what is wrong, not the send */
	IN_RING = 1 << 3,	/* neither is, but an index */
	FILLS = 1 << 4,		/* there is too little room; the receiver gets what is right */
	QUIET = 1 << 5,		/* no receive is told of the end of the stream */
};

struct wrong {
	const char *name;
	/* makes something wrong of what is right */
	void (*make)(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge);
	uint8_t ops[6];		/* operations of which, by iwt_wr_opcode; */
	uint8_t n_ops;
	uint8_t may;
};

extern const struct wrong iwt_wrongs[];
extern const uint32_t iwt_n_wrongs;

/* fuzzabi_judge.c */
void iwt_judged_collect(struct judge *j);
void iwt_judged_right(struct judge *j, struct judged_wqe *q, uint8_t op);
void iwt_judged_post(struct judge *j, const void *wqe, size_t len);
void iwt_judged_pattern(struct judge *j);
bool iwt_judged_beyond(const struct judge *j);
void iwt_judged_say(struct judge *j, const char *name, const char *what);

/* fuzzabi_bring.c: the connection, and its end */
bool iwt_judged_begin(struct judge *j, uint32_t cqe);
void iwt_judged_end(struct judge *j);
void iwt_judged_answers(struct judge *j);

/* fuzzabi_race.c */
void iwt_judged_race(struct judge *j);

#endif
