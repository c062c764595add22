// SPDX-License-Identifier: GPL-2.0
/* iwt_queues: functions that post one request. They return 0 or an error number. */
#include "queues.h"

int post_send(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, unsigned int flags,
	      struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = op, .sg_list = sge, .num_sge = !!sge,
				  .send_flags = flags }, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

int post_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = !!sge }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}
