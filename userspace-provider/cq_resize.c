// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Resizing a completion queue. Only the entries move; the control words and the bits of deferred
 * posts remain in the mapping with which the queue was created. After the resize command, the
 * kernel writes each completion to the old and the new entries, until the process reports that it
 * uses the new entries (IWT_METHOD_CQ_RESIZED). So other threads may poll, arm and post all the
 * time.
 */

#include <errno.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>

#include "iw_tcp.h"
#include "iw_tcp_abi.h"

/*
 * Reports the end of a resize to the kernel. @flags: 0, or IWT_CQ_RESIZED_NOT if the resize has
 * failed. If the report fails, the next resize first repeats the report. Returns 0 or an errno
 * value.
 */
static int iwt_cq_tell(struct iwt_cq *cq, uint32_t flags)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_RESIZED, 2);

	fill_attr_in_obj(cmd, IWT_ATTR_CQ, cq->vcq.cq.handle);
	fill_attr_in_uint32(cmd, IWT_ATTR_CQ_RESIZED_FLAGS, flags);
	cq->untold_flags = flags;
	cq->untold = execute_ioctl(cq->vcq.cq.context, cmd);

	return cq->untold;
}

/* Maps the new entries. Sets @next to the new ring, with the control words of the old ring. */
static int iwt_cq_map(struct iwt_cq *cq, const struct iwt_resize_cq_resp *resp,
		      struct iwt_ring *next, struct iwt_map *map)
{
	struct iwt_ring_desc desc = {
		.offset = resp->mmap_offset,
		.length = resp->mmap_length,
		.num = resp->entries,
		.stride = cq->ring.stride,
	};

	*next = cq->ring;
	next->num = resp->entries;
	next->entries = cq->first_entries;
	if (resp->mmap_length)
		return iwt_ring_map_entries(next, map,
					    cq->vcq.cq.context->cmd_fd, &desc);

	return resp->entries == cq->first_num ? 0 : EPROTO;
}

/*
 * Copies the old entries to the new ring, and switches to the new ring. The copy overwrites the
 * completions that the kernel has written to the new ring. This is necessary: since the resize
 * command, threads may have removed completions from the old ring (iwt_cq_clean()), but not from
 * the new ring.
 */
static void iwt_cq_move(struct iwt_cq *cq, const struct iwt_ring *next)
{
	uint32_t prod, index;

	iwt_cq_lock(cq);
	prod = iwt_load(&cq->ring.ctl->prod);
	for (index = cq->cons; index != prod; index++)
		memcpy(iwt_ring_entry(next, index),
		       iwt_ring_entry(&cq->ring, index), cq->ring.stride);
	cq->ring = *next;
	iwt_cq_unlock(cq);
}

static int iwt_cq_resize(struct iwt_cq *cq, int cqe)
{
	struct iwt_cmd_resize_cq_resp resp = {};
	struct iwt_cmd_resize_cq cmd = {};
	uint32_t old_num = cq->ring.num;
	struct iwt_ring next;
	struct iwt_map map = {};
	int ret;

	ret = cq->untold ? iwt_cq_tell(cq, cq->untold_flags) : 0;
	if (ret)
		return ret;
	ret = ibv_cmd_resize_cq(&cq->vcq.cq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (ret || resp.entries == old_num)
		return ret;

	ret = iwt_cq_map(cq, &resp.drv_payload, &next, &map);
	if (ret) {
		iwt_cq_tell(cq, IWT_CQ_RESIZED_NOT);
		cq->vcq.cq.cqe = old_num;
		return ret;
	}
	iwt_cq_move(cq, &next);
	iwt_unmap(&cq->more);
	cq->more = map;
	ret = iwt_cq_tell(cq, 0);
	/* if the report fails, the kernel uses only as many entries as the smaller ring has */
	if (ret && old_num < next.num)
		cq->vcq.cq.cqe = old_num;

	return ret;
}

/*
 * The entry that the program reads between start_poll and end_poll must not move. During this
 * time the program holds the lock of the queue, and the resize waits for the lock. A
 * single-threaded queue does not use the lock, so during this time the resize of such a queue
 * fails.
 */
int iwt_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	int ret;

	if (cq->single_threaded && cq->cqe)
		return EBUSY;

	pthread_mutex_lock(&cq->resizing);
	ret = iwt_cq_resize(cq, cqe);
	pthread_mutex_unlock(&cq->resizing);

	return ret;
}
