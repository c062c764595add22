// SPDX-License-Identifier: GPL-2.0
/* The fake kernel's shared receive queues. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>

#include "fake.h"

#define FAKE_SRQ_HANDLE	0x7c7c

static void fake_answer_srq(struct iwt_create_srq_resp *answer,
			    struct fake_ring *ring, uint32_t max_wr)
{
	answer->entries = fake_round_up(max_wr);
	answer->stride = FAKE_STRIDE;
	answer->mmap_offset = fake_make_ring(ring, answer->entries,
					     answer->stride,
					     (uint64_t *)&answer->mmap_length);
	if (fake.spoil_srq)
		fake.spoil_srq(answer);
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct iwt_create_srq_resp *answer;

	answer = fake_answer(resp, sizeof(*resp), resp_size, sizeof(*answer));
	fake_answer_srq(answer, &fake.srq, attr->attr.max_wr);
	attr->attr.max_wr = answer->entries;
	srq->context = pd->context;
	srq->handle = FAKE_SRQ_HANDLE;
	fake.srqs++;

	return 0;
}

/* Copies to the new ring the posted receives that the kernel has not consumed. */
static int fake_move(void)
{
	struct fake_ring *from = &fake.srq, *to = &fake.new_srq;
	uint32_t i;

	if (from->ctl->prod - from->ctl->cons > to->num)
		return EINVAL;
	for (i = from->ctl->cons; i != from->ctl->prod; i++)
		memcpy(fake_entry(to, i), fake_entry(from, i), FAKE_STRIDE);
	to->ctl->prod = from->ctl->prod;
	to->ctl->cons = from->ctl->cons;
	*from = *to;

	return 0;
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
		       struct ibv_modify_srq *cmd, size_t cmd_size)
{
	if (srq->handle != FAKE_SRQ_HANDLE || cmd_size != sizeof(*cmd))
		abort();
	if (fake.on_srq_modify)
		fake.on_srq_modify();
	if (fake.srq_modify_err)
		return fake.srq_modify_err;
	if (mask & IBV_SRQ_MAX_WR && fake_move())
		return EINVAL;
	if (mask & IBV_SRQ_LIMIT)
		fake.srq_limit = attr->srq_limit;
	fake.srq_modified++;

	return 0;
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		      struct ibv_query_srq *cmd, size_t cmd_size)
{
	attr->max_wr = fake.srq.num;
	attr->srq_limit = fake.srq_limit;

	return 0;
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	fake.srqs--;

	return 0;
}

int fake_srq_method(struct ibv_command_buffer *cmd)
{
	struct iwt_create_srq_resp *answer;

	if (cmd->hdr.method_id == IWT_METHOD_SRQ_DOORBELL &&
	    fake_attr_data(cmd, IWT_ATTR_SRQ) == FAKE_SRQ_HANDLE) {
		fake.srq_doorbells++;
		return fake.doorbell_err;
	}
	if (cmd->hdr.method_id != IWT_METHOD_SRQ_NEW_RING ||
	    fake_attr_data(cmd, IWT_ATTR_SRQ) != FAKE_SRQ_HANDLE)
		abort();
	answer = (void *)(uintptr_t)fake_attr_data(cmd, IWT_ATTR_SRQ_RING);
	fake_answer_srq(answer, &fake.new_srq,
			fake_attr_u32(cmd, IWT_ATTR_SRQ_MAX_WR));

	return 0;
}
