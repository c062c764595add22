/* SPDX-License-Identifier: GPL-2.0 */
/* A connection on which one thing is wrong, and the effects that it must not have. */
#ifndef FUZZABI_JUDGE_H
#define FUZZABI_JUDGE_H

#include "fuzzabi.h"

/* The regions, each in the middle of a page: nobody may change the rest of JUDGED_BYTES. */
enum { MINE, OTHERS, READ_ONLY, REGIONS };
#define REGION_AT(n)	(JUDGED + (n) * PAGE + 0x400)
#define REGION_BYTES	0x400

/* The sender's queue pair and the receiver's; each has a completion queue of its own. */
enum { TX, RX };

#define JUDGED_WRS	16	/* entries of a queue */
#define JUDGED_SGES	2
#define JUDGED_RECV	64	/* octets of a message */
#define JUDGED_FEW	4	/* entries of a completion queue that is to overflow */
#define WRONG_ID	0x57074e6

struct judged_wqe {
	struct iwt_send_wqe w;
	struct iwt_sge sge[JUDGED_SGES];
};

struct judge {
	struct fuzz *f;
	int ctx;
	uint32_t wrs;		/* entries of each queue */
	struct obj pd[2], cq[2], qp[2], mr[REGIONS];
	uint32_t seen[2];	/* completions taken */
	uint32_t good[2], bad[2];	/* completions, good and bad, since the wrong thing */
	bool wrong_good;	/* the wrong request has completed with success */
	bool wrong_known;	/* the wrong request has completed */
	bool receives;		/* the correct request is a Send */
	bool no_request;	/* the wrong thing is no request */
	bool quiet;		/* no completion tells of the end */
	bool keep;		/* completions are read, but remain in the queue */
	struct iwt_recv_wqe *recv;	/* the receive that is being posted */
	uint8_t was[JUDGED_BYTES];	/* its memory before */
};

/* What the wrong thing may do nevertheless */
enum {
	TOLD = 1 << 0,		/* the sender gets a success: the peer refuses */
	TOUCHES = 1 << 1,	/* the region MINE changes */
	IN_RECV = 1 << 2,	/* the receive is wrong, not the send */
	IN_RING = 1 << 3,	/* an index is wrong, not a send or receive */
	FILLS = 1 << 4,		/* the completion queue overflows; the receiver gets correct sends */
	QUIET = 1 << 5,		/* no receive completes at the end of the stream */
};

struct wrong {
	const char *name;
	/* makes a correct request wrong */
	void (*make)(struct judge *j, struct iwt_send_wqe *w, struct iwt_sge *sge);
	uint8_t ops[6];		/* operations to choose from, enum iwt_wr_opcode */
	uint8_t n_ops;
	uint8_t may;
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
