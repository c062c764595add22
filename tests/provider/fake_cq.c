// SPDX-License-Identifier: GPL-2.0
/* The fake kernel's completion queues. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>
#include <iw_tcp_has.h>

#include "fake.h"

#define FAKE_CQ_HANDLE	0x6b6b

static uint64_t fake_make_entries(struct fake_ring *ring, uint32_t num,
				  uint64_t *length)
{
	uint64_t offset = fake.used;

	*length = ((uint64_t)num * ring->stride + 4095) & ~4095ULL;
	if (offset + *length > FAKE_MEMORY)
		abort();
	fake.used += *length;
	ring->entries = fake.mem + offset;
	ring->num = num;

	return offset;
}

int ibv_cmd_create_cq_ex(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *attr,
#ifdef IWT_HAS_CREATE_CQ_MEMORY
			 struct verbs_create_cq_prov_attr *memory,
#endif
			 struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
{
	struct iwt_create_cq_resp *answer;
	struct ibv_cq *cq = &vcq->cq;

#ifdef IWT_HAS_CREATE_CQ_MEMORY
	/* the kernel allocates the entries */
	if (memory)
		abort();
#endif
	/*
	 * the provider must pass a comp_mask of 0 and flags of 0, because older versions of
	 * libibverbs do not know the bits
	 */
	if (attr->comp_mask || cmd_flags)
		abort();
	cq->context = context;
	answer = fake_answer(resp, sizeof(*resp), resp_size, sizeof(*answer));
	answer->entries = fake_round_up(attr->cqe);
	answer->stride = sizeof(struct iwt_cqe);
	if (attr->wc_flags)
		answer->stride += sizeof(struct iwt_cqe_time);
	answer->mmap_offset = fake_make_ring(&fake.cq, answer->entries,
					     answer->stride,
					     (uint64_t *)&answer->mmap_length);
	answer->posted_bits = FAKE_BITS;
	fake.cq_first = fake.cq;
	fake.cq_next.ctl = NULL;
	cq->cqe = answer->entries;
	cq->handle = FAKE_CQ_HANDLE;
	fake.cqs++;
	if (fake.spoil_cq)
		fake.spoil_cq(answer);

	return 0;
}

void fake_load(const void *word)
{
	if (fake.on_load)
		fake.on_load(word);
}

static void step(void (*call)(void))
{
	if (call)
		call();
}

/*
 * Chooses the entries of the new ring as the kernel does: the present entries if their number
 * does not change; the first mapping if the new size is not larger than the first mapping; else a
 * new mapping.
 */
static int begin_resize(uint32_t cqe, struct iwt_resize_cq_resp *answer)
{
	uint32_t num = fake_round_up(cqe);

	/* only one resize at a time */
	if (fake.cq_next.ctl)
		abort();
	if (fake.cq.ctl->prod - fake.cq.ctl->cons > cqe)
		return EINVAL;
	if (num < fake.cq_first.num)
		num = fake.cq_first.num;
	answer->entries = num;
	if (num != fake.cq.num) {
		fake.cq_next = fake.cq_first;
		if (num != fake.cq_first.num)
			answer->mmap_offset =
				fake_make_entries(&fake.cq_next, num,
						  (uint64_t *)&answer->mmap_length);
	}

	return 0;
}

int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct iwt_resize_cq_resp *answer;
	int err;

	if (fake.resize_err)
		return fake.resize_err;
	answer = fake_answer(resp, sizeof(*resp), resp_size, sizeof(*answer));
	step(fake.before_step);
	err = begin_resize(cqe, answer);
	step(fake.after_step);
	if (err)
		return err;
	cq->cqe = answer->entries;
	step(fake.on_resize);
	if (fake.spoil_resize)
		fake.spoil_resize(answer);

	return 0;
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
		      struct ibv_modify_cq *cmd, size_t cmd_size)
{
	/* libibverbs itself fills in the command */
	if (cmd_size != sizeof(*cmd))
		abort();
	fake.moderation = attr->moderate;

	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	fake.cqs--;

	return 0;
}

static int flushed(uint32_t handle)
{
	if (handle != FAKE_CQ_HANDLE)
		abort();
	__atomic_add_fetch(&fake.flushes, 1, __ATOMIC_RELAXED);
	if (fake.on_flush)
		fake.on_flush();

	return 0;
}

static int armed(uint32_t handle, uint32_t flags)
{
	if (handle != FAKE_CQ_HANDLE)
		abort();
	fake.arms++;
	fake.arm_flags = flags;
	/* a test checks that the process has stored the arm word before this call */
	fake.arm_seen = fake.cq.ctl->arm;

	return fake.arm_err;
}

/* Overwrites the old entries, because the process must not read them any more. */
static int end_resize(uint32_t flags)
{
	if (!fake.cq_next.ctl)
		return EINVAL;
	if (!(flags & IWT_CQ_RESIZED_NOT)) {
		memset(fake.cq.entries, 0x5a, fake.cq.num * fake.cq.stride);
		fake.cq = fake.cq_next;
	}
	fake.cq_next.ctl = NULL;

	return 0;
}

static int resized(uint32_t handle, uint32_t flags)
{
	int err;

	if (handle != FAKE_CQ_HANDLE)
		abort();
	fake.told++;
	if (fake.tell_err)
		return fake.tell_err;
	step(fake.before_step);
	err = end_resize(flags);
	step(fake.after_step);

	return err;
}

int fake_cq_method(struct ibv_command_buffer *cmd)
{
	uint32_t handle = fake_attr_data(cmd, IWT_ATTR_CQ);

	switch (cmd->hdr.method_id) {
	case IWT_METHOD_CQ_POLL:
		return flushed(handle);
	case IWT_METHOD_CQ_ARM:
		return armed(handle, fake_attr_u32(cmd, IWT_ATTR_CQ_ARM_FLAGS));
	case IWT_METHOD_CQ_RESIZED:
		return resized(handle,
			       fake_attr_u32(cmd, IWT_ATTR_CQ_RESIZED_FLAGS));
	default:
		abort();
	}
}
