/* SPDX-License-Identifier: GPL-2.0 */
/* iwt_ulp: declarations that its files share. */
#ifndef ULP_H
#define ULP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#define ULP_IDS		4096
#define ULP_OBJECTS	4096
#define ULP_MRS		4096

/* A connection. If its queue pair connects without rdma_cm, @ec and @id are NULL. */
struct ulp_conn {
	struct rdma_event_channel *ec;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
};

struct ulp_mem {
	struct ibv_mr *mr;
	uint8_t *buf, *map;
	size_t len, map_len;
};

extern struct ibv_context *ulp_ctx;
extern struct ulp_conn ulp_conn[ULP_IDS];

/*
 * The arguments KEY=VALUE of the current command. ulp_str() returns a value as text, ulp_num() as
 * a number (@other if there is no such argument), ulp_hex() as *@len bytes. ulp_has() returns
 * true if the value contains the letter @flag.
 */
const char *ulp_str(const char *key);
uint64_t ulp_num(const char *key, uint64_t other);
bool ulp_has(const char *key, char flag);
uint8_t *ulp_hex(const char *key, size_t *len);

/*
 * The answer to the command. ulp_put() and ulp_put_hex() append to the line. ulp_err() replaces
 * the line by an error, and returns -1.
 */
void ulp_put(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ulp_put_hex(const char *key, const void *octets, size_t len);
int ulp_err(int err, const char *what);

/* Waits up to @ms milliseconds until @fd is readable. Return: true if @fd is readable. */
bool ulp_wait(int fd, uint64_t ms);

struct ulp_conn *ulp_conn_of(uint64_t n);
/* Fills @a by the arguments of the command "qp". Return: the protection domain, or NULL. */
struct ibv_pd *ulp_qp_attr(struct ibv_qp_init_attr *a);
struct ibv_pd *ulp_pd(uint64_t n);
struct ibv_cq *ulp_cq(uint64_t n);
struct ibv_srq *ulp_srq(uint64_t n);
struct ulp_mem *ulp_mem(uint64_t n);
struct ibv_mw *ulp_mw(uint64_t n);

struct ulp_command {
	const char *name;
	int (*fn)(void);
};

extern const struct ulp_command ulp_cm_commands[], ulp_direct_commands[], ulp_obj_commands[],
	ulp_post_commands[];

#endif
