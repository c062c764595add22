/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_cmorder gives commands to rdma_cm in any order. A worker is a process with two descriptors
 * of rdma_cm. A second thread of the worker, the rival, accepts, rejects and disconnects the
 * rdma_cm_ids of the same worker at any moment.
 */
#ifndef CMORDER_H
#define CMORDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define WORKERS	3
#define SLOTS	16

/*
 * Counters of all workers. The counters before N_TAKEN_TWICE count orders: sequences of commands
 * and events that must happen at least once in a run.
 */
enum count {
	N_ESTABLISHED, N_REJECTED, N_ANSWERED_AGAIN, N_ANSWERED_CONNECTING, N_LEFT_CONNECTING,
	N_LEFT_REQUEST, N_MIGRATED, N_FAILED_CONNECT,
	/* events that must not happen */
	N_TAKEN_TWICE, N_TAKEN_CONNECTING,
	COUNTS
};

/**
 * struct shared - data that all workers share
 * @counts: counters of events
 * @listening: ports of the workers' listeners in network byte order, or 0
 * @silent: port of a TCP socket that accepts connections, and closes them without sending
 * @address: address of the link
 * @device: name of the device
 * @private_data: most connects and accepts contain private data
 */
struct shared {
	uint32_t counts[COUNTS];
	uint16_t listening[WORKERS];
	uint16_t silent;
	struct in_addr address;
	const char *device;
	bool private_data;
};

/* State of an rdma_cm_id, as far as its worker knows */
enum kind {
	FREE, NEW, BOUND, LISTENING, RESOLVING, RESOLVED, ROUTING, ROUTED, CONNECTING, REQUEST,
	ACCEPTED, CONNECTED, OVER,
};

/* An rdma_cm_id of a worker. @file: index of its descriptor in the worker's member @fd */
struct slot {
	enum kind kind;
	uint32_t id;
	int file;
	struct ibv_qp *qp;
};

struct worker {
	struct shared *all;
	int number;
	int fd[2];
	uint64_t seed;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct slot slots[SLOTS];
	uint8_t out[2048];
};

/* main.c */
uint32_t draw(uint64_t *seed, uint32_t below);

/* ops.c; the functions of type int give a command, and return 0 or an errno */
void count(struct worker *w, enum count what);
bool has_listener(const struct worker *w);
void read_events(struct worker *w);
void create_id(struct worker *w);
int bind_it(struct worker *w, struct slot *s);
int listen_it(struct worker *w, struct slot *s);
int resolve_it(struct worker *w, struct slot *s);
int route_it(struct worker *w, struct slot *s);
int connect_it(struct worker *w, struct slot *s);
int accept_it(struct worker *w, struct slot *s);
int reject_it(struct worker *w, struct slot *s);
int disconnect_it(struct worker *w, struct slot *s);
int destroy_it(struct worker *w, struct slot *s);
int migrate_it(struct worker *w, struct slot *s);
int attributes_of(struct worker *w, struct slot *s);
void *rival(void *arg);

#endif
