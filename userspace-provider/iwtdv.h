/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What iw_tcp can beyond the verbs: to go on in RDMA on a TCP connection that the program has
 * made and talked over. See iwtdv(7). Link with -liw_tcp.
 */
#ifndef __IWTDV_H__
#define __IWTDV_H__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/* most octets of private data; 4 less where depths are told */
	IWTDV_MAX_PRIVATE_DATA = 512,
	/* the peer says nothing about a depth */
	IWTDV_DEPTH_ANY = 0x3fff,
};

enum iwtdv_conn_flags {
	/* in: MPA of RFC 5044 only, for a peer that knows no other */
	IWTDV_CONN_PLAIN = 1 << 0,
	/* out: what was agreed */
	IWTDV_CONN_CRC = 1 << 1,
	IWTDV_CONN_TX_MARKERS = 1 << 2,
	IWTDV_CONN_RX_MARKERS = 1 << 3,
	IWTDV_CONN_ENHANCED = 1 << 4,
};

/*
 * All of these structures may get longer. The program sets comp_mask: to 0, or to the bits of
 * the later members that it has given (in iwtdv_conn_param), or wants to be given if the
 * library knows them (in the others, where the library leaves those that it has set). There are
 * no such members yet.
 */

struct iwtdv_conn_param {
	uint64_t comp_mask;		/* 0 */
	const void *private_data;
	uint16_t private_data_len;
	uint16_t ird;			/* RDMA Reads of the peer at a time */
	uint16_t ord;			/* our own */
	uint16_t reserved;
	uint32_t flags;			/* IWTDV_CONN_PLAIN */
	int32_t timeout;		/* milliseconds; 0 stands for 15 s */
};

struct iwtdv_conn {
	uint64_t comp_mask;		/* in: 0 */
	uint32_t flags;			/* enum iwtdv_conn_flags */
	uint16_t ird;			/* as agreed */
	uint16_t ord;
	/* of the peer's Reply, also when that is a reject */
	uint16_t private_data_len;
	uint8_t private_data[IWTDV_MAX_PRIVATE_DATA];
};

struct iwtdv_request {
	uint64_t comp_mask;		/* in: 0 */
	uint16_t ird;			/* what the peer asks for, */
	uint16_t ord;			/* or IWTDV_DEPTH_ANY */
	uint16_t private_data_len;
	uint16_t private_data_offset;	/* in frame */
	uint16_t frame_len;
	uint8_t frame[20 + IWTDV_MAX_PRIVATE_DATA];
};

bool iwtdv_is_supported(struct ibv_device *device);

int iwtdv_connect(struct ibv_qp *qp, int sockfd,
		  const struct iwtdv_conn_param *param,
		  struct iwtdv_conn *conn);

int iwtdv_get_request(int sockfd, const void *last_message, size_t length,
		      int timeout, struct iwtdv_request *request);

int iwtdv_accept(struct ibv_qp *qp, int sockfd,
		 const struct iwtdv_request *request,
		 const struct iwtdv_conn_param *param,
		 struct iwtdv_conn *conn);

int iwtdv_reject(struct ibv_context *context, int sockfd,
		 const struct iwtdv_request *request,
		 const void *private_data, uint16_t private_data_len);

#ifdef __cplusplus
}
#endif

#endif
