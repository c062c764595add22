/* SPDX-License-Identifier: GPL-2.0 */
/* An echo server in the kernel: declarations that main.c and conn.c share. */
#ifndef ECHO_H
#define ECHO_H

#include <linux/types.h>

struct rdma_cm_event;
struct rdma_cm_id;

#define ECHO_RECVS	4	/* receives of a connection */
#define ECHO_ROOM	65536	/* bytes of a receive */

/* The first byte of a message is a request. */
enum echo_ask {
	ECHO_BACK = 'e',	/* send the message back */
	ECHO_READ = 'r',	/* struct echo_read: Read from its @addr, send the data */
	ECHO_NONE = 'n',	/* send nothing */
};

struct echo_read {
	u8 ask;
	u8 zero[3];
	__be32 stag;
	__be64 addr;
	__be32 len;
} __packed;

int iwt_echo_init(void);
void iwt_echo_exit(void);
int iwt_echo_accept(struct rdma_cm_id *id);
int iwt_echo_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);
void iwt_echo_end_all(void);

#endif
