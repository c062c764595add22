/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the parts of iwt_hostile share. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <rdma/iw_tcp-abi.h>
#include <rdma/rdma_cma.h>

#define PORT		"7474"
#define BUF		65536	/* bytes of a connection's buffer */
#define WRS		64	/* requests in a send queue */
#define PATIENCE	60	/* seconds */
#define MAGIC		0x1122334455667700ull

struct grant {
	uint64_t addr;
	uint32_t rkey;
	uint32_t len;
} __attribute__((packed));

struct ring {
	uint8_t *at;
	size_t len;
	uint64_t off;
	size_t first;		/* bytes before the first entry */
	uint32_t stride;
};

struct conn {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *events;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct grant peer;
	struct ring scq, sq, rq;
	volatile bool stop;
};

extern const char *iwt_address;
extern uint64_t iwt_seed;

__attribute__((noreturn, format(printf, 1, 2)))
void iwt_fail(const char *fmt, ...);
uint64_t iwt_rnd(void);

/* conn.c: connections and their rings */
void iwt_resolve(struct conn *c);
void iwt_make_objects(struct conn *c, bool look);
int iwt_connect(struct conn *c);
void iwt_establish(struct conn *c);
struct conn *iwt_dial(bool look);
int iwt_post_recv(struct conn *c, uint64_t id);
int iwt_post(struct conn *c, uint64_t id, int op, uint32_t off, uint32_t len);
bool iwt_wait_wc(struct conn *c, struct ibv_wc *wc);
struct iwt_ring_ctl *iwt_ctl(const struct ring *r);
void *iwt_slot(const struct ring *r, uint32_t idx, uint32_t entries);
int iwt_post_command(struct conn *c, uint32_t n, uint32_t sges, uint32_t wqe_size);
int iwt_method(struct conn *c, uint16_t object, uint16_t method, uint32_t handle,
	       int n, uint32_t flags);
void iwt_doorbell(struct conn *c);
void iwt_raw(struct conn *c, const struct iwt_send_wqe *w,
	     const struct iwt_sge *sge, int n);

/* peer.c */
int iwt_serve(void);

/* cases.c, mem.c: each case runs in its own process */
void iwt_honest(void);
void iwt_opcodes(void);
void iwt_counts(void);
void iwt_atomics(void);
void iwt_kernel_memory(void);
void iwt_kernel_receives(void);
void iwt_indices(void);
void iwt_fuzz(void);
void iwt_races(void);
void iwt_unmap(void);
void iwt_forks(void);
void iwt_children(void);
void iwt_exits(void);
void iwt_killed(void);
void iwt_legacy(void);
void iwt_maps(void);
void iwt_doorbells(void);
void iwt_registrations(void);

/* events.c: each case runs in its own process */
void iwt_methods(void);
void iwt_arms(void);
void iwt_arms_called(void);

#endif
