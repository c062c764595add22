/* SPDX-License-Identifier: GPL-2.0 */
/* Calls and events that iwt_fuzzabi counts; true if at least one in each run must succeed. */
#ifndef FUZZABI_LIST_H
#define FUZZABI_LIST_H

#define FUZZABI_LIST(X)						\
	X(W_GET_CONTEXT,	"command get_context",		true)	\
	X(W_QUERY_DEVICE,	"command query_device",		true)	\
	X(W_QUERY_PORT,		"command query_port",		true)	\
	X(W_ALLOC_PD,		"command alloc_pd",		true)	\
	X(W_DEALLOC_PD,		"command dealloc_pd",		true)	\
	X(W_REG_MR,		"command reg_mr",		true)	\
	X(W_REREG_MR,		"command rereg_mr",		true)	\
	X(W_DEREG_MR,		"command dereg_mr",		true)	\
	X(W_ALLOC_MW,		"command alloc_mw",		true)	\
	X(W_DEALLOC_MW,		"command dealloc_mw",		true)	\
	X(W_COMP_CHANNEL,	"command create_comp_channel",	true)	\
	X(W_CREATE_CQ,		"command create_cq",		true)	\
	X(W_DESTROY_CQ,		"command destroy_cq",		true)	\
	X(W_RESIZE_CQ,		"command resize_cq",		true)	\
	X(W_CREATE_QP,		"command create_qp",		true)	\
	X(W_QUERY_QP,		"command query_qp",		true)	\
	X(W_MODIFY_QP,		"command modify_qp",		true)	\
	X(W_DESTROY_QP,		"command destroy_qp",		true)	\
	X(W_CREATE_SRQ,		"command create_srq",		true)	\
	X(W_MODIFY_SRQ,		"command modify_srq",		true)	\
	X(W_QUERY_SRQ,		"command query_srq",		true)	\
	X(W_DESTROY_SRQ,	"command destroy_srq",		true)	\
	X(W_REFUSED,		"commands that are refused",	false)	\
	X(X_QUERY_DEVICE,	"extended query_device",	true)	\
	X(X_CREATE_CQ,		"extended create_cq",		true)	\
	X(X_CREATE_QP,		"extended create_qp",		true)	\
	X(X_MODIFY_QP,		"extended modify_qp",		true)	\
	X(X_MODIFY_CQ,		"extended modify_cq",		true)	\
	X(I_GET_CONTEXT,	"method get_context",		true)	\
	X(I_QUERY_CONTEXT,	"method query_context",		false)	\
	X(I_INFO_HANDLES,	"method info_handles",		true)	\
	X(I_QUERY_PORT,		"method query_port",		true)	\
	X(I_QUERY_GID,		"method query_gid_entry",	true)	\
	X(I_QUERY_GIDS,		"method query_gid_table",	true)	\
	X(I_ASYNC_EVENT,	"method async_event_alloc",	true)	\
	X(I_CREATE_CQ,		"method cq_create",		true)	\
	X(I_DESTROY_CQ,		"method cq_destroy",		true)	\
	X(I_CREATE_QP,		"method qp_create",		true)	\
	X(I_DESTROY_QP,		"method qp_destroy",		true)	\
	X(I_CREATE_SRQ,		"method srq_create",		true)	\
	X(I_DESTROY_SRQ,	"method srq_destroy",		true)	\
	X(I_SRQ_NEW_RING,	"own method SRQ_NEW_RING",	true)	\
	X(I_DESTROY_PD,		"method pd_destroy",		true)	\
	X(I_DESTROY_MR,		"method mr_destroy",		true)	\
	X(I_DESTROY_MW,		"method mw_destroy",		true)	\
	X(I_QUERY_MR,		"method query_mr",		true)	\
	X(I_ADVISE_MR,		"method advise_mr",		false)	\
	X(I_REG_DMABUF,		"method reg_dmabuf_mr",		false)	\
	X(I_ANY,		"methods at random",		false)	\
	X(I_DOORBELL,		"own method doorbell",		true)	\
	X(I_CQ_POLL,		"own method CQ_POLL",		true)	\
	X(I_ARM,		"own method arm",		true)	\
	X(I_RESIZED,		"own method CQ_RESIZED",	true)	\
	X(I_MPA_REQUEST,	"own method mpa_request",	true)	\
	X(I_MPA_ATTACH,		"own method mpa_attach",	true)	\
	X(I_MPA_REJECT,		"own method mpa_reject",	true)	\
	X(C_CREATE_ID,		"rdma_cm create_id",		true)	\
	X(C_DESTROY_ID,		"rdma_cm destroy_id",		true)	\
	X(C_BIND,		"rdma_cm bind",			true)	\
	X(C_QUERY,		"rdma_cm query",		true)	\
	X(C_LISTEN,		"rdma_cm listen",		true)	\
	X(C_RESOLVE_ADDR,	"rdma_cm resolve_addr",		true)	\
	X(C_RESOLVE_ROUTE,	"rdma_cm resolve_route",	true)	\
	X(C_CONNECT,		"rdma_cm connect",		true)	\
	X(C_ACCEPT,		"rdma_cm accept",		true)	\
	X(C_REJECT,		"rdma_cm reject",		true)	\
	X(C_DISCONNECT,		"rdma_cm disconnect",		true)	\
	X(C_GET_EVENT,		"rdma_cm get_event",		true)	\
	X(C_ESTABLISHED,	"rdma_cm connections",		true)	\
	X(C_ANY,		"rdma_cm commands at random",	false)	\
	X(J_CALL,		"calls of judges",		false)	\
	X(J_RIGHT,		"what judges do right",		true)	\
	X(J_WRONG,		"what judges do wrong, seen",	true)	\
	X(J_ANSWERS,		"answers that judges look at",	true)	\
	X(J_RACE,		"entries that change meanwhile, seen",	false)	\
	X(M_MMAP,		"mmap of a ring",		true)	\
	X(M_ODD_MMAP,		"mmap at random",		false)	\
	X(M_CHANGE,		"mprotect, mremap, munmap, ...",	true)	\
	X(M_FILES,		"close, dup, read, ...",	true)	\
	X(M_FORK,		"fork",				true)	\
	X(WC_SEND,		"completion of send",		true)	\
	X(WC_WRITE,		"completion of write",		true)	\
	X(WC_READ,		"completion of read",		true)	\
	X(WC_LOCAL_INV,		"completion of local_inv",	false)	\
	X(WC_REG_MR,		"completion of reg_mr",		false)	\
	X(WC_RECV,		"completion of recv",		true)	\
	X(WC_RECV_IMM,		"completion of recv_with_imm",	true)	\
	X(WC_FETCH_ADD,		"completion of fetch_add",	true)	\
	X(WC_CMP_SWAP,		"completion of cmp_swap",	true)	\
	X(WC_MASKED_ADD,	"completion of masked_fetch_add",	false)	\
	X(WC_MASKED_SWAP,	"completion of masked_cmp_swap",	false)	\
	X(WC_BIND_MW,		"completion of bind_mw",	true)	\
	X(WC_ODD,		"completion of what we wrote",	false)

enum method {
#define X(id, name, must) id,
	FUZZABI_LIST(X)
#undef X
	METHODS
};

#endif
