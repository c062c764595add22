/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An extension of the verbs: the program establishes and uses a TCP connection, and then switches
 * this connection to RDMA. See iwtdv(7). Link with -liw_tcp.
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
	/* maximum private data in bytes; with MPA revision 2 the maximum is 508 */
	IWTDV_MAX_PRIVATE_DATA = 512,
	/* value of ird or ord: the peer does not negotiate this number */
	IWTDV_DEPTH_ANY = 0x3fff,
};

enum iwtdv_conn_flags {
	/* in: use MPA revision 1 (RFC 5044), for a peer without RFC 6581 */
	IWTDV_CONN_PLAIN = 1 << 0,
	/* out: FPDUs have a CRC */
	IWTDV_CONN_CRC = 1 << 1,
	/* out: the data that this end sends have markers */
	IWTDV_CONN_TX_MARKERS = 1 << 2,
	/* out: the data that the peer sends have markers */
	IWTDV_CONN_RX_MARKERS = 1 << 3,
	/* out: both ends agreed on ird and ord (RFC 6581) */
	IWTDV_CONN_ENHANCED = 1 << 4,
};

/*
 * Later versions may add members to these structures. Each added member will have a bit in
 * comp_mask. In iwtdv_conn_param, the program sets the bits of the added members that it has set.
 * In the other structures, the program sets the bits of the added members that it requests; on
 * return, comp_mask has the bits of the members that the library has set. No members have been
 * added yet, so the program sets comp_mask to 0.
 */

struct iwtdv_conn_param {
	uint64_t comp_mask;		/* 0 */
	const void *private_data;
	uint16_t private_data_len;
	uint16_t ird;			/* maximum outstanding RDMA Reads of the peer */
	uint16_t ord;			/* maximum outstanding RDMA Reads of this end */
	uint16_t reserved;
	uint32_t flags;			/* IWTDV_CONN_PLAIN */
	int32_t timeout;		/* milliseconds; 0 or less: 15 s */
};

struct iwtdv_conn {
	uint64_t comp_mask;		/* in: 0 */
	uint32_t flags;			/* enum iwtdv_conn_flags */
	uint16_t ird;			/* ird and ord: as negotiated */
	uint16_t ord;
	/* private data of the peer's Reply, also if the Reply rejects */
	uint16_t private_data_len;
	uint8_t private_data[IWTDV_MAX_PRIVATE_DATA];
};

struct iwtdv_request {
	uint64_t comp_mask;		/* in: 0 */
	uint16_t ird;			/* IRD that the peer requests, or IWTDV_DEPTH_ANY */
	uint16_t ord;			/* ORD that the peer requests, or IWTDV_DEPTH_ANY */
	uint16_t private_data_len;
	uint16_t private_data_offset;	/* offset of the private data in frame */
	uint16_t frame_len;
	uint8_t frame[20 + IWTDV_MAX_PRIVATE_DATA];
};

/*
 * Manual pages in section 3 describe the functions. Each function of type int returns 0 or an
 * errno value.
 */

/* Is this a device of iw_tcp? */
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
