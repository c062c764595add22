/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the parts of iwt_charge share. */
#ifndef CHARGE_H
#define CHARGE_H

#include <stdint.h>
#include <sys/types.h>

#define CONTEXTS	2

/* Operations of workers */
enum op { CREATE, DESTROY, MAP, UNMAP, UNMAP_PART, FORK, SPLICE, DRAIN, CLOSE, EXIT };

struct order {
	enum op op;
	int ctx;
	int slot;
	uint32_t cqe;
	uint32_t handle;
	uint64_t offset;
	uint64_t len;
	void *at;
};

struct answer {
	int err;
	pid_t pid;
	uint32_t handle;
	uint64_t offset;
	uint64_t len;
	void *at;
};

extern int iwt_ctx[CONTEXTS];	/* descriptors of uverbs, one for each context */

/* Create or destroy a completion queue, which has one ring. Return: 0 or an errno value */
int iwt_create(int fd, uint32_t cqe, struct answer *a);
int iwt_destroy(int fd, uint32_t handle);

/* Main loop of worker @slot: executes the orders that arrive at @sockets[@slot]. */
void iwt_serve(const int *sockets, int slot) __attribute__((noreturn));

#endif
