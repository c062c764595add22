// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <iw_tcp_has.h>

#include "fake.h"

#define FAKE_QP_HANDLE	0x5a5a

struct fake fake;

static struct verbs_device fake_device;

/* functions of libibverbs */

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	fake.driver = ops;
	fake_device.ops = ops;
}

void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *context_offset,
				    uint32_t driver_id)
{
	uint8_t *memory = calloc(1, alloc_size);
	struct verbs_context *vctx;

	if (driver_id != RDMA_DRIVER_IW_TCP)
		abort();
	vctx = (struct verbs_context *)(memory + (uintptr_t)context_offset);
	vctx->context.device = device;
	vctx->context.cmd_fd = cmd_fd;
	fake.contexts++;

	return memory;
}

void verbs_uninit_context(struct verbs_context *context)
{
	fake.contexts--;
}

void verbs_set_ops(struct verbs_context *vctx,
		   const struct verbs_context_ops *ops)
{
	fake.ops = *ops;
}

/* Finds the driver's part of an answer, which follows the core's part. */
void *fake_answer(void *resp, size_t core_size, size_t resp_size, size_t size)
{
	if (resp_size < core_size + size)
		abort();

	return (uint8_t *)resp + core_size;
}

int ibv_cmd_get_context(struct verbs_context *context,
			struct ibv_get_context *cmd, size_t cmd_size,
#ifdef IWT_HAS_GET_CONTEXT_FDS
			struct ibv_fd_arr *fds,
#endif
			struct ib_uverbs_get_context_resp *resp,
			size_t resp_size)
{
	struct iwt_uctx_resp *answer;
	struct iwt_uctx_req *req;

#ifdef IWT_HAS_GET_CONTEXT_FDS
	if (fds)
		abort();
#endif
	/* the provider must not evaluate errno after this call */
	errno = EBADMSG;
	if (fake.no_answer)
		return EUSERS;
	req = fake_answer(cmd, sizeof(*cmd), cmd_size, sizeof(*req));
	fake.features_asked = req->features;
	answer = fake_answer(resp, sizeof(*resp), resp_size, sizeof(*answer));
	answer->features = fake.features;

	return 0;
}

int ibv_cmd_query_device_any(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp,
			     size_t *resp_size)
{
	if (input && input->comp_mask)
		return EINVAL;
	memset(attr, 0, attr_size);
	resp->base.fw_ver = 6ULL << 32 | 12 << 16 | 107;

	return 0;
}

int ibv_cmd_query_port(struct ibv_context *context, uint8_t port_num,
		       struct ibv_port_attr *port_attr,
		       struct ibv_query_port *cmd, size_t cmd_size)
{
	if (port_num != 1)
		return EINVAL;
	port_attr->state = IBV_PORT_ACTIVE;

	return 0;
}

#ifdef IWT_HAS_PORT_SPEED
int ibv_cmd_query_port_speed(struct ibv_context *context, uint32_t port_num,
			     uint64_t *speed)
{
	if (port_num != 1)
		return EINVAL;
	*speed = 250;

	return 0;
}
#endif

int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd,
		     struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	pd->context = context;
	fake.pds++;

	return 0;
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	fake.pds--;

	return 0;
}

int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
		   uint64_t hca_va, int access, struct verbs_mr *vmr,
		   struct ibv_reg_mr *cmd, size_t cmd_size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size)
{
	if (!length)
		return EINVAL;
	vmr->ibv_mr.lkey = 0x11223344;
	vmr->ibv_mr.rkey = 0x11223344;
	fake.mrs++;

	return 0;
}

/*
 * Some versions of libibverbs declare ibv_cmd_reg_dmabuf_mr() without the argument @driver. This
 * function has the argument in every version, to check that the provider always passes NULL.
 */
int fake_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
		       uint64_t iova, int fd, int access, struct verbs_mr *vmr,
		       struct ibv_command_buffer *driver)
	__asm__("ibv_cmd_reg_dmabuf_mr");

int fake_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
		       uint64_t iova, int fd, int access, struct verbs_mr *vmr,
		       struct ibv_command_buffer *driver)
{
	if (driver)
		abort();
	if (fd < 0)
		return EBADF;
	vmr->ibv_mr.lkey = offset << 8 | iova;
	fake.mrs++;

	return 0;
}

int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	return sg_list[num_sge - 1].lkey == 0x11223344 ? 0 : EFAULT;
}

int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr,
		     size_t length, uint64_t hca_va, int access,
		     struct ibv_pd *pd, struct ibv_rereg_mr *cmd,
		     size_t cmd_sz, struct ib_uverbs_rereg_mr_resp *resp,
		     size_t resp_sz)
{
	if (hca_va != (uintptr_t)addr)
		return EINVAL;
	vmr->ibv_mr.lkey = 0x55667788;
	vmr->ibv_mr.rkey = 0x55667788;

	return 0;
}

int ibv_cmd_dereg_mr(struct verbs_mr *vmr)
{
	fake.mrs--;

	return 0;
}

int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type,
		     struct ibv_mw *mw, struct ibv_alloc_mw *cmd,
		     size_t cmd_size, struct ib_uverbs_alloc_mw_resp *resp,
		     size_t resp_size)
{
	if (fake.mw_err)
		return fake.mw_err;
	mw->context = pd->context;
	mw->pd = pd;
	mw->rkey = FAKE_MW_RKEY;
	mw->type = type;
	fake.mws++;

	return 0;
}

int ibv_cmd_dealloc_mw(struct ibv_mw *mw)
{
	if (fake.mw_err)
		return fake.mw_err;
	fake.mws--;

	return 0;
}

/* functions of the kernel */

uint64_t fake_make_ring(struct fake_ring *ring, uint32_t num, uint32_t stride,
			uint64_t *length)
{
	uint64_t offset = fake.used;

	*length = (IWT_RING_CTL_SIZE + (uint64_t)num * stride + FAKE_BITS / 8 +
		   4095) & ~4095ULL;
	if (offset + *length > FAKE_MEMORY)
		abort();
	fake.used += *length;

	ring->ctl = (struct iwt_ring_ctl *)(fake.mem + offset);
	ring->entries = fake.mem + offset + IWT_RING_CTL_SIZE;
	ring->num = num;
	ring->stride = stride;
	ring->ctl->prod = fake.first_index;
	ring->ctl->cons = fake.first_index;

	return offset;
}

uint32_t fake_round_up(uint32_t num)
{
	uint32_t power = 1;

	if (!num)
		return 0;
	while (power < num)
		power <<= 1;

	return power;
}

int ibv_cmd_create_qp_ex(struct ibv_context *context, struct verbs_qp *vqp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size)
{
	struct iwt_create_qp_resp *answer;

	/* the real libibverbs accepts no other bits */
	if (attr->comp_mask & ~(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
				IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EINVAL;
	answer = fake_answer(resp, sizeof(*resp), resp_size, sizeof(*answer));
	answer->sq_entries = fake_round_up(attr->cap.max_send_wr);
	answer->rq_entries = attr->srq ? 0 :
				      fake_round_up(attr->cap.max_recv_wr);
	answer->sq_stride = FAKE_STRIDE;
	answer->rq_stride = FAKE_STRIDE;
	answer->max_inline = fake.max_inline;
	answer->send_bit = FAKE_BIT;
	answer->recv_bit = UINT32_MAX;
	answer->sq_mmap_offset =
		fake_make_ring(&fake.sq, answer->sq_entries, FAKE_STRIDE,
			       (uint64_t *)&answer->sq_mmap_length);
	if (answer->rq_entries)
		answer->rq_mmap_offset =
			fake_make_ring(&fake.rq, answer->rq_entries,
				       FAKE_STRIDE,
				       (uint64_t *)&answer->rq_mmap_length);
	attr->cap.max_send_wr = answer->sq_entries;
	attr->cap.max_recv_wr = answer->rq_entries;
	if (attr->srq)
		attr->cap.max_recv_sge = 0;
	vqp->qp.context = context;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	vqp->qp.srq = attr->srq;
	vqp->qp.qp_num = ++fake.next_qp_num;
	vqp->qp.handle = FAKE_QP_HANDLE;
	vqp->comp_mask = 0;
	fake.qps++;
	if (fake.spoil_qp)
		fake.spoil_qp(answer);

	return 0;
}

void fake_resize_qp(struct iwt_create_qp_resp *resp, uint32_t max_inline,
		    uint32_t recv_room)
{
	resp->max_inline = max_inline;
	resp->sq_stride = sizeof(struct iwt_send_wqe) + max_inline;
	resp->rq_stride = sizeof(struct iwt_recv_wqe) + recv_room;
	resp->sq_mmap_offset =
		fake_make_ring(&fake.sq, resp->sq_entries, resp->sq_stride,
			       (uint64_t *)&resp->sq_mmap_length);
	resp->rq_mmap_offset =
		fake_make_ring(&fake.rq, resp->rq_entries, resp->rq_stride,
			       (uint64_t *)&resp->rq_mmap_length);
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	fake.qps--;

	return 0;
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		     struct ibv_qp_init_attr *init_attr,
		     struct ibv_query_qp *cmd, size_t cmd_size)
{
	attr->qp_state = IBV_QPS_INIT;

	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		      int attr_mask, struct ibv_modify_qp *cmd, size_t cmd_size)
{
	return 0;
}

static int rung(uint32_t handle)
{
	if (handle != FAKE_QP_HANDLE)
		abort();
	__atomic_add_fetch(&fake.doorbells, 1, __ATOMIC_RELAXED);
	if (fake.on_doorbell)
		fake.on_doorbell();

	return fake.doorbell_err;
}

static struct ib_uverbs_attr *find_attr(struct ibv_command_buffer *cmd,
					uint16_t id)
{
	struct ib_uverbs_attr *attr = cmd->hdr.attrs;

	for (; attr != cmd->next_attr; attr++)
		if (attr->attr_id == id)
			return attr;

	return NULL;
}

static uint16_t attr_len(struct ibv_command_buffer *cmd, uint16_t id)
{
	struct ib_uverbs_attr *attr = find_attr(cmd, id);

	return attr ? attr->len : 0;
}

uint64_t fake_attr_data(struct ibv_command_buffer *cmd, uint16_t id)
{
	struct ib_uverbs_attr *attr = find_attr(cmd, id);

	if (!attr)
		abort();

	return attr->data;
}

/*
 * The field "data" of an attribute contains a value of at most 8 bytes directly, from the first
 * byte of the field on.
 */
uint32_t fake_attr_u32(struct ibv_command_buffer *cmd, uint16_t id)
{
	uint64_t data = fake_attr_data(cmd, id);
	uint32_t value;

	if (attr_len(cmd, id) != sizeof(value))
		abort();
	memcpy(&value, &data, sizeof(value));

	return value;
}

static int mpa_method(struct ibv_command_buffer *cmd)
{
	struct iwt_mpa_result result = { .ird = 3, .ord = 2, .flags = IWT_MPA_CRC };
	struct ib_uverbs_attr *param, *frame, *out;
	int err;

	param = find_attr(cmd, IWT_ATTR_MPA_PARAM);
	if (param && param->len != sizeof(fake.mpa_param))
		abort();
	if (param)
		memcpy(&fake.mpa_param, (void *)(uintptr_t)param->data, param->len);
	err = fake.attach_err[fake.ioctls++ % 4];
	fake.request_len = attr_len(cmd, IWT_ATTR_MPA_REQUEST);
	fake.reply_len = attr_len(cmd, IWT_ATTR_MPA_REPLY);
	fake.private_data_len = attr_len(cmd, IWT_ATTR_MPA_PRIVATE_DATA);
	if (err)
		return err;
	frame = find_attr(cmd, IWT_ATTR_MPA_FRAME);
	if (frame)
		memcpy((void *)(uintptr_t)frame->data, fake.frame, frame->len);
	out = find_attr(cmd, IWT_ATTR_MPA_RESULT);
	if (out)
		memcpy((void *)(uintptr_t)out->data, &result, out->len);

	return 0;
}

/* The provider calls the driver's own methods through this function, which stands for ioctl(). */
int execute_ioctl(struct ibv_context *context, struct ibv_command_buffer *cmd)
{
	uint16_t method = cmd->hdr.method_id;

	if (cmd->buffer_error)
		abort();
	switch (cmd->hdr.object_id) {
	case UVERBS_OBJECT_QP:
		if (method == IWT_METHOD_QP_DOORBELL)
			return rung(fake_attr_data(cmd, IWT_ATTR_QP));
		return mpa_method(cmd);
	case UVERBS_OBJECT_SRQ:
		return fake_srq_method(cmd);
	case UVERBS_OBJECT_CQ:
		return fake_cq_method(cmd);
	default:
		return mpa_method(cmd);
	}
}

/* If a test sets error_queue, each socket appears to have an entry in its error queue. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (!fake.mem || !fake.error_queue)
		return syscall(SYS_poll, fds, n, timeout);
	/* a provider that polls in an endless loop fails the test */
	if (++fake.polls > 100000) {
		errno = EIO;
		return -1;
	}
	if (syscall(SYS_poll, fds, n, 0) < 0)
		abort();
	fds[0].revents |= POLLERR;

	return 1;
}

/* functions for the tests */

struct ibv_context *fake_open(void)
{
	return fake_open_with(~0ULL);
}

struct ibv_context *fake_open_with(uint64_t features)
{
	fake_begin(features);

	return fake_context();
}

struct ibv_context *fake_context(void)
{
	struct verbs_context *vctx;

	vctx = fake.driver->alloc_context(&fake_device.device, fake.fd, NULL);

	return vctx ? &vctx->context : NULL;
}

void fake_begin(uint64_t features)
{
	const struct verbs_device_ops *driver = fake.driver;

	fake = (struct fake) {
		.driver = driver,
		.features = features,
		.max_inline = 64,
	};
	fake.fd = memfd_create("rings", MFD_CLOEXEC);
	if (fake.fd < 0 || ftruncate(fake.fd, FAKE_MEMORY))
		abort();
	fake.mem = mmap(NULL, FAKE_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED,
			fake.fd, 0);
	if (fake.mem == MAP_FAILED)
		abort();
}

void fake_close(struct ibv_context *context)
{
	if (context)
		fake.ops.free_context(context);
	munmap(fake.mem, FAKE_MEMORY);
	close(fake.fd);
}

struct ibv_cq *fake_make_cq(struct ibv_context *context, int cqe)
{
	return fake.ops.create_cq(context, cqe, NULL, 0);
}

struct ibv_qp *fake_make_qp(struct ibv_context *context, struct ibv_cq *cq,
			    uint32_t wrs, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = wrs,
			.max_recv_wr = wrs,
			.max_send_sge = FAKE_MAX_SGE,
			.max_recv_sge = FAKE_MAX_SGE,
		},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = fake.ops.alloc_pd(context),
	};
	struct ibv_qp *qp;

	if (send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = send_ops;
	}
	qp = fake.ops.create_qp_ex(context, &attr);
	if (qp)
		qp->pd = attr.pd;
	else
		fake.ops.dealloc_pd(attr.pd);

	return qp;
}

void fake_drop_qp(struct ibv_qp *qp)
{
	struct ibv_pd *pd = qp->pd;

	fake.ops.destroy_qp(qp);
	fake.ops.dealloc_pd(pd);
}

void *fake_entry(const struct fake_ring *ring, uint32_t index)
{
	return ring->entries + (index & (ring->num - 1)) * ring->stride;
}

void fake_complete(const struct iwt_cqe *cqe)
{
	uint32_t prod = fake.cq.ctl->prod;
	struct iwt_cqe_time *time;

	memcpy(fake_entry(&fake.cq, prod), cqe, sizeof(*cqe));
	if (fake.cq.stride > sizeof(*cqe)) {
		time = (void *)((struct iwt_cqe *)fake_entry(&fake.cq, prod) + 1);
		time->raw = cqe->wr_id + 1000;
		time->wallclock = cqe->wr_id + 2000;
	}
	if (fake.cq_next.ctl)
		memcpy(fake_entry(&fake.cq_next, prod),
		       fake_entry(&fake.cq, prod), fake.cq.stride);
	__atomic_store_n(&fake.cq.ctl->prod, prod + 1, __ATOMIC_RELEASE);
}
