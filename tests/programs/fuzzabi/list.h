/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls and events that iwt_fuzzabi counts. The last argument of X() defines whether a run fails
 * if no call of the kind succeeds: ALWAYS, NEVER, or only if the driver was built with the
 * feature of this name.
 */
#ifndef FUZZABI_LIST_H
#define FUZZABI_LIST_H

#define ALWAYS	""
#define NEVER	NULL

#define FUZZABI_LIST(X)						\
	X(W_GET_CONTEXT,	"command get_context",		ALWAYS)	\
	X(W_QUERY_DEVICE,	"command query_device",		ALWAYS)	\
	X(W_QUERY_PORT,		"command query_port",		ALWAYS)	\
	X(W_ALLOC_PD,		"command alloc_pd",		ALWAYS)	\
	X(W_DEALLOC_PD,		"command dealloc_pd",		ALWAYS)	\
	X(W_REG_MR,		"command reg_mr",		ALWAYS)	\
	X(W_REREG_MR,		"command rereg_mr",		ALWAYS)	\
	X(W_DEREG_MR,		"command dereg_mr",		ALWAYS)	\
	X(W_ALLOC_MW,		"command alloc_mw",		"WINDOWS")	\
	X(W_DEALLOC_MW,		"command dealloc_mw",		"WINDOWS")	\
	X(W_COMP_CHANNEL,	"command create_comp_channel",	ALWAYS)	\
	X(W_CREATE_CQ,		"command create_cq",		ALWAYS)	\
	X(W_DESTROY_CQ,		"command destroy_cq",		ALWAYS)	\
	X(W_RESIZE_CQ,		"command resize_cq",		"RESIZE")	\
	X(W_CREATE_QP,		"command create_qp",		ALWAYS)	\
	X(W_QUERY_QP,		"command query_qp",		ALWAYS)	\
	X(W_MODIFY_QP,		"command modify_qp",		ALWAYS)	\
	X(W_DESTROY_QP,		"command destroy_qp",		ALWAYS)	\
	X(W_CREATE_SRQ,		"command create_srq",		"SRQ")	\
	X(W_MODIFY_SRQ,		"command modify_srq",		"SRQ")	\
	X(W_QUERY_SRQ,		"command query_srq",		"SRQ")	\
	X(W_DESTROY_SRQ,	"command destroy_srq",		"SRQ")	\
	X(W_REFUSED,		"commands that must be refused",	NEVER)	\
	X(X_QUERY_DEVICE,	"extended query_device",	ALWAYS)	\
	X(X_CREATE_CQ,		"extended create_cq",		ALWAYS)	\
	X(X_CREATE_QP,		"extended create_qp",		ALWAYS)	\
	X(X_MODIFY_QP,		"extended modify_qp",		ALWAYS)	\
	X(X_MODIFY_CQ,		"extended modify_cq",		ALWAYS)	\
	X(I_GET_CONTEXT,	"method get_context",		ALWAYS)	\
	X(I_QUERY_CONTEXT,	"method query_context",		NEVER)	\
	X(I_INFO_HANDLES,	"method info_handles",		ALWAYS)	\
	X(I_QUERY_PORT,		"method query_port",		ALWAYS)	\
	X(I_QUERY_GID,		"method query_gid_entry",	ALWAYS)	\
	X(I_QUERY_GIDS,		"method query_gid_table",	ALWAYS)	\
	X(I_ASYNC_EVENT,	"method async_event_alloc",	ALWAYS)	\
	X(I_CREATE_CQ,		"method cq_create",		ALWAYS)	\
	X(I_DESTROY_CQ,		"method cq_destroy",		ALWAYS)	\
	X(I_CREATE_QP,		"method qp_create",		ALWAYS)	\
	X(I_DESTROY_QP,		"method qp_destroy",		ALWAYS)	\
	X(I_CREATE_SRQ,		"method srq_create",		"SRQ")	\
	X(I_DESTROY_SRQ,	"method srq_destroy",		"SRQ")	\
	X(I_SRQ_NEW_RING,	"own method SRQ_NEW_RING",	"SRQ")	\
	X(I_SRQ_DOORBELL,	"own method SRQ_DOORBELL",	"SRQ")	\
	X(I_DESTROY_PD,		"method pd_destroy",		ALWAYS)	\
	X(I_DESTROY_MR,		"method mr_destroy",		ALWAYS)	\
	X(I_DESTROY_MW,		"method mw_destroy",		"WINDOWS")	\
	X(I_QUERY_MR,		"method query_mr",		ALWAYS)	\
	X(I_ADVISE_MR,		"method advise_mr",		NEVER)	\
	X(I_REG_DMABUF,		"method reg_dmabuf_mr",		NEVER)	\
	X(I_ANY,		"methods at random",		NEVER)	\
	X(I_DOORBELL,		"own method doorbell",		ALWAYS)	\
	X(I_CQ_POLL,		"own method CQ_POLL",		ALWAYS)	\
	X(I_ARM,		"own method arm",		ALWAYS)	\
	X(I_RESIZED,		"own method CQ_RESIZED",	"RESIZE")	\
	X(I_MPA_REQUEST,	"own method mpa_request",	"DELAYED")	\
	X(I_MPA_ATTACH,		"own method mpa_attach",	"DELAYED")	\
	X(I_MPA_REJECT,		"own method mpa_reject",	"DELAYED")	\
	X(D_RTR,		"addresses in RTR",		"DIRECT")	\
	X(C_CREATE_ID,		"rdma_cm create_id",		ALWAYS)	\
	X(C_DESTROY_ID,		"rdma_cm destroy_id",		ALWAYS)	\
	X(C_BIND,		"rdma_cm bind",			ALWAYS)	\
	X(C_QUERY,		"rdma_cm query",		ALWAYS)	\
	X(C_LISTEN,		"rdma_cm listen",		ALWAYS)	\
	X(C_RESOLVE_ADDR,	"rdma_cm resolve_addr",		ALWAYS)	\
	X(C_RESOLVE_ROUTE,	"rdma_cm resolve_route",	ALWAYS)	\
	X(C_CONNECT,		"rdma_cm connect",		ALWAYS)	\
	X(C_ACCEPT,		"rdma_cm accept",		ALWAYS)	\
	X(C_REJECT,		"rdma_cm reject",		ALWAYS)	\
	X(C_DISCONNECT,		"rdma_cm disconnect",		ALWAYS)	\
	X(C_GET_EVENT,		"rdma_cm get_event",		ALWAYS)	\
	X(C_ESTABLISHED,	"rdma_cm connections",		ALWAYS)	\
	X(C_ANY,		"rdma_cm commands at random",	NEVER)	\
	X(J_CALL,		"calls of judges",		NEVER)	\
	X(J_RIGHT,		"correct requests of judges",		"DELAYED")	\
	X(J_WRONG,		"mistakes of judges that were noticed",	"DELAYED")	\
	X(J_ANSWERS,		"answers that judges checked",	ALWAYS)	\
	X(J_RACE,		"entries that changed while read",	NEVER)	\
	X(M_MMAP,		"mmap of a ring",		ALWAYS)	\
	X(M_ODD_MMAP,		"mmap at random",		NEVER)	\
	X(M_CHANGE,		"mprotect, mremap, munmap, ...",	ALWAYS)	\
	X(M_CHANGE_SRQ,		"the same for a shared receive queue",	"SRQ")	\
	X(M_FILES,		"close, dup, read, ...",	ALWAYS)	\
	X(M_FORK,		"fork",				ALWAYS)	\
	X(WC_SEND,		"completion of send",		ALWAYS)	\
	X(WC_WRITE,		"completion of write",		ALWAYS)	\
	X(WC_READ,		"completion of read",		ALWAYS)	\
	X(WC_LOCAL_INV,		"completion of local_inv",	NEVER)	\
	X(WC_REG_MR,		"completion of reg_mr",		NEVER)	\
	X(WC_RECV,		"completion of recv",		ALWAYS)	\
	X(WC_RECV_IMM,		"completion of recv_with_imm",	ALWAYS)	\
	X(WC_FETCH_ADD,		"completion of fetch_add",	ALWAYS)	\
	X(WC_CMP_SWAP,		"completion of cmp_swap",	ALWAYS)	\
	X(WC_MASKED_ADD,	"completion of masked_fetch_add",	NEVER)	\
	X(WC_MASKED_SWAP,	"completion of masked_cmp_swap",	NEVER)	\
	X(WC_BIND_MW,		"completion of bind_mw",	"WINDOWS")	\
	X(WC_ODD,		"completion in a changed entry",	NEVER)

enum method {
#define X(id, name, when) id,
	FUZZABI_LIST(X)
#undef X
	METHODS
};

#endif
