/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Direct connections: the private data of their MPA startup frames. Pure functions.
 *
 * A queue pair without rdma_cm connects directly: the program moves the queue pair to RTR with
 * the GID and the number of the peer's queue pair. Each end sends a struct iwt_direct_pd as the
 * private data of its startup frame: the initiator in the Request, the responder in the Reply.
 * The two structures must describe the same connection, as seen from both ends.
 */
#ifndef IWT_DIRECT_H
#define IWT_DIRECT_H

#include "wire.h"

#define IWT_GID_LEN		16

/* Private data in a startup frame. All fields are in network byte order. */
struct iwt_direct_pd {
	__be32 magic;
	u8 version;
	u8 flags;		/* IWT_DIRECT_RTS or 0 */
	u8 rnr_retry;		/* as the consumer set it; valid with IWT_DIRECT_RTS */
	u8 reserved;
	__be32 qpn;
	__be32 peer_qpn;
	__be32 sq_psn;		/* valid with IWT_DIRECT_RTS */
	__be32 rq_psn;
	u8 gid[IWT_GID_LEN];
	u8 peer_gid[IWT_GID_LEN];
} __packed;
static_assert(sizeof(struct iwt_direct_pd) == 56);

#define IWT_DIRECT_MAGIC	0x69774443	/* "iwDC" */
#define IWT_DIRECT_VERSION	1
/* The queue pair of the end that sends the frame is in the state RTS. */
#define IWT_DIRECT_RTS		0x01

#define IWT_RNR_RETRY_FOREVER	7

/*
 * Each end adds this number to the IRD and to the ORD that its consumer requests: by these
 * additional Reads the driver learns that the peer has placed earlier messages.
 */
#define IWT_DIRECT_READS	2

/**
 * struct iwt_direct_end - the connection as one end describes it, in host byte order
 * @gid: GID of this end's queue pair: an IP address
 * @peer_gid: GID of the peer's queue pair: an IP address
 * @qpn: number of this end's queue pair
 * @peer_qpn: number of the peer's queue pair
 * @rts: the queue pair is in the state RTS: @sq_psn and @rnr_retry are known
 * @sq_psn: first PSN that the queue pair sends, 24 bits
 * @rq_psn: first PSN that the queue pair expects, 24 bits
 * @rnr_retry: how often the queue pair's requests are to be repeated when the peer has posted no
 *	receive: 0 to 7; 7 means for ever
 */
struct iwt_direct_end {
	u8 gid[IWT_GID_LEN];
	u8 peer_gid[IWT_GID_LEN];
	u32 qpn;
	u32 peer_qpn;
	bool rts;
	u32 sq_psn;
	u32 rq_psn;
	u8 rnr_retry;
};

/* Which end of a direct connection sends the Request? */
enum iwt_direct_role {
	IWT_DIRECT_INITIATOR,
	IWT_DIRECT_RESPONDER,
	IWT_DIRECT_SELF,	/* both ends are the same queue pair */
};

enum iwt_direct_role iwt_direct_role(const struct iwt_direct_end *own);
void iwt_direct_build(const struct iwt_direct_end *own, struct iwt_direct_pd *pd);
/* Return: true if @data are well-formed private data of a direct connection. */
bool iwt_direct_parse(const u8 *data, u32 len, struct iwt_direct_end *peer);
bool iwt_direct_match(const struct iwt_direct_end *own, const struct iwt_direct_end *peer);
u32 iwt_direct_rnr_ms(u8 min_rnr_timer, u8 rnr_retry);
u64 iwt_direct_retry_ms(u8 timeout, u8 retry_cnt);

#endif
