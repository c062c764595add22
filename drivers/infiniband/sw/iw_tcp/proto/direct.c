// SPDX-License-Identifier: GPL-2.0
/* Direct connections: the roles of both ends, and the private data of the startup frames. */
#include "direct.h"

#include <linux/limits.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#define PSN_MASK	0xffffff
#define QPN_MAX		0xffffff

/**
 * iwt_direct_role() - which end of a direct connection is the initiator?
 * @own: this end
 *
 * The end with the smaller GID is the initiator. If both GIDs are equal, the end with the smaller
 * queue pair number is the initiator. The octets of the GIDs are compared in network order. Both
 * ends compute the same roles, so they never connect to each other at the same time.
 *
 * Return: the role of this end.
 */
enum iwt_direct_role iwt_direct_role(const struct iwt_direct_end *own)
{
	int diff = memcmp(own->gid, own->peer_gid, IWT_GID_LEN);

	if (!diff && own->qpn == own->peer_qpn)
		return IWT_DIRECT_SELF;
	if (diff < 0 || (!diff && own->qpn < own->peer_qpn))
		return IWT_DIRECT_INITIATOR;
	return IWT_DIRECT_RESPONDER;
}

/**
 * iwt_direct_build() - write the private data of a startup frame
 * @own: this end
 * @pd: receives the private data
 */
void iwt_direct_build(const struct iwt_direct_end *own, struct iwt_direct_pd *pd)
{
	memset(pd, 0, sizeof(*pd));
	pd->magic = cpu_to_be32(IWT_DIRECT_MAGIC);
	pd->version = IWT_DIRECT_VERSION;
	pd->qpn = cpu_to_be32(own->qpn);
	pd->peer_qpn = cpu_to_be32(own->peer_qpn);
	pd->rq_psn = cpu_to_be32(own->rq_psn);
	if (own->rts) {
		pd->flags = IWT_DIRECT_RTS;
		pd->rnr_retry = own->rnr_retry;
		pd->sq_psn = cpu_to_be32(own->sq_psn);
	}
	memcpy(pd->gid, own->gid, IWT_GID_LEN);
	memcpy(pd->peer_gid, own->peer_gid, IWT_GID_LEN);
}

/* Are the fields that have a limited range valid, and are the unused fields zero? */
static bool is_valid(const struct iwt_direct_pd *pd, const struct iwt_direct_end *peer)
{
	if (pd->flags & ~IWT_DIRECT_RTS || pd->reserved)
		return false;
	if (!peer->rts && (pd->rnr_retry || pd->sq_psn))
		return false;
	return peer->qpn <= QPN_MAX && peer->peer_qpn <= QPN_MAX && peer->sq_psn <= PSN_MASK &&
	       peer->rq_psn <= PSN_MASK && peer->rnr_retry <= IWT_RNR_RETRY_FOREVER;
}

/**
 * iwt_direct_parse() - read the private data of the peer's startup frame
 * @data: private data
 * @len: length of @data in octets
 * @peer: receives the contents
 *
 * Return: true if the private data are well formed and have the version IWT_DIRECT_VERSION.
 */
bool iwt_direct_parse(const u8 *data, u32 len, struct iwt_direct_end *peer)
{
	struct iwt_direct_pd pd;

	if (len != sizeof(pd))
		return false;
	memcpy(&pd, data, sizeof(pd));
	if (be32_to_cpu(pd.magic) != IWT_DIRECT_MAGIC || pd.version != IWT_DIRECT_VERSION)
		return false;
	peer->rts = pd.flags & IWT_DIRECT_RTS;
	peer->rnr_retry = pd.rnr_retry;
	peer->qpn = be32_to_cpu(pd.qpn);
	peer->peer_qpn = be32_to_cpu(pd.peer_qpn);
	peer->sq_psn = be32_to_cpu(pd.sq_psn);
	peer->rq_psn = be32_to_cpu(pd.rq_psn);
	memcpy(peer->gid, pd.gid, IWT_GID_LEN);
	memcpy(peer->peer_gid, pd.peer_gid, IWT_GID_LEN);
	return is_valid(&pd, peer);
}

/**
 * iwt_direct_match() - do two ends describe the same connection?
 * @own: this end
 * @peer: contents of the peer's private data
 *
 * The PSN that one end sends first must be the PSN that the other end expects first. The PSN that
 * an end sends first is known only if the end is in the state RTS. At least one of these two PSNs
 * must be known: an attacker would have to guess this PSN.
 *
 * Return: true if so.
 */
bool iwt_direct_match(const struct iwt_direct_end *own, const struct iwt_direct_end *peer)
{
	if (own->qpn != peer->peer_qpn || own->peer_qpn != peer->qpn ||
	    memcmp(own->gid, peer->peer_gid, IWT_GID_LEN) ||
	    memcmp(own->peer_gid, peer->gid, IWT_GID_LEN))
		return false;
	if (own->rts && own->sq_psn != peer->rq_psn)
		return false;
	if (peer->rts && peer->sq_psn != own->rq_psn)
		return false;
	return own->rts || peer->rts;
}

/**
 * iwt_direct_rnr_ms() - how long a message waits for a receive
 * @min_rnr_timer: attribute of the receiver's queue pair, 0 to 31: a code of a time
 * @rnr_retry: attribute of the sender's queue pair, 0 to 7
 *
 * With InfiniBand the sender repeats a request @rnr_retry times, and waits for the time of
 * @min_rnr_timer before each repetition. Here the message waits at the receiver, for @rnr_retry
 * times the time of @min_rnr_timer.
 *
 * Return: milliseconds, rounded up, or U32_MAX to wait for ever.
 */
u32 iwt_direct_rnr_ms(u8 min_rnr_timer, u8 rnr_retry)
{
	/* the values of the timer in units of 10 microseconds */
	static const u32 timer[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
		32768, 49152,
	};

	if (rnr_retry >= IWT_RNR_RETRY_FOREVER)
		return U32_MAX;
	return (timer[min_rnr_timer & 31] * rnr_retry + 99) / 100;
}

/**
 * iwt_direct_retry_ms() - how long requests wait for a connection
 * @timeout: attribute of the queue pair: the time 4.096 us * 2^timeout; 0: for ever
 * @retry_cnt: attribute of the queue pair, 0 to 7
 *
 * The result is @retry_cnt + 1 times the time of @timeout. The caller waits at least five
 * seconds.
 *
 * Return: milliseconds, rounded up, or 0 to wait for ever.
 */
u64 iwt_direct_retry_ms(u8 timeout, u8 retry_cnt)
{
	if (!timeout)
		return 0;
	return ((4096ull << (timeout & 31)) * (retry_cnt + 1)) / 1000000 + 1;
}
