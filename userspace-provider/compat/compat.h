/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The provider is written for the newest libibverbs. This header supplies the parts that older
 * versions of libibverbs lack. The snippets in probes/ determine which parts are missing: the
 * build never compares versions. release/patches removes all uses of this header in the patches
 * for rdma-core.
 */
#ifndef IW_TCP_COMPAT_H
#define IW_TCP_COMPAT_H

#include <infiniband/driver.h>
#include "iw_tcp_has.h"

#ifndef IWT_HAS_GET_CONTEXT_FDS
/* This ibv_cmd_get_context() lacks the argument @fds, for which the provider passes NULL. */
struct ibv_fd_arr;

static inline int
compat_get_context(struct verbs_context *context, struct ibv_get_context *cmd,
		   size_t cmd_size, struct ibv_fd_arr *fds,
		   struct ib_uverbs_get_context_resp *resp, size_t resp_size)
{
	return ibv_cmd_get_context(context, cmd, cmd_size, resp, resp_size);
}

#define ibv_cmd_get_context compat_get_context
#endif

#ifndef IWT_HAS_CREATE_CQ_MEMORY
/* This ibv_cmd_create_cq_ex() lacks the argument @memory, for which the provider passes NULL. */
struct verbs_create_cq_prov_attr;

static inline int
compat_create_cq_ex(struct ibv_context *context,
		    const struct ibv_cq_init_attr_ex *attr,
		    struct verbs_create_cq_prov_attr *memory,
		    struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
		    size_t cmd_size, struct ib_uverbs_ex_create_cq_resp *resp,
		    size_t resp_size, uint32_t cmd_flags)
{
	return ibv_cmd_create_cq_ex(context, attr, cq, cmd, cmd_size, resp,
				    resp_size, cmd_flags);
}

#define ibv_cmd_create_cq_ex compat_create_cq_ex
#endif

#ifndef IWT_HAS_REG_DMABUF_DRIVER
/*
 * Declare the library's own function with a last argument, which the header of this library
 * lacks. In newer libraries the function has this argument, but their private symbols have the
 * same version. So a newer library may load the provider, and read the argument; an older library
 * ignores the argument.
 */
int compat_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
			 uint64_t iova, int fd, int access,
			 struct verbs_mr *vmr,
			 struct ibv_command_buffer *driver)
	__asm__("ibv_cmd_reg_dmabuf_mr");
#define ibv_cmd_reg_dmabuf_mr compat_reg_dmabuf_mr
#endif

/* Older libraries lack query_port_speed, which reports the speed of the net device. */
#ifdef IWT_HAS_PORT_SPEED
#define COMPAT_QUERY_PORT_SPEED .query_port_speed = ibv_cmd_query_port_speed,
#else
#define COMPAT_QUERY_PORT_SPEED
#endif

#endif
