// SPDX-License-Identifier: GPL-2.0
/* Steps: contexts, queries, and random commands and methods, of which many do not exist. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "fuzzabi.h"

#define MAX_GIDS	16	/* the call fails if a link has more GIDs than there is room for */

/* Closes the last context, which destroys the objects of the context, and opens a new context. */
void iwt_op_context(struct fuzz *f)
{
	struct world *w = f->w;
	int n = CONTEXTS - 1, k, i;

	if (w->ctx[n] != w->ctx[0])
		close(w->ctx[n]);
	w->ctx[n] = w->ctx[0];
	for (k = PD; k <= SRQ; k++)
		for (i = 0; i < PER_KIND; i++)
			if (w->obj[k][i].ctx == n)
				w->obj[k][i].live = false;
	iwt_open(f, n);
}

static void query_commands(struct fuzz *f, int fd)
{
	static const struct ib_uverbs_query_device device;
	static const struct ib_uverbs_ex_query_device device_ex;
	struct ib_uverbs_query_port port = { .port_num = 1 };
	const struct command c[] = {
		{ W_QUERY_DEVICE, IB_USER_VERBS_CMD_QUERY_DEVICE, false, &device, NULL,
		  sizeof(device), sizeof(struct ib_uverbs_query_device_resp) },
		{ X_QUERY_DEVICE, IB_USER_VERBS_EX_CMD_QUERY_DEVICE, true, &device_ex, NULL,
		  sizeof(device_ex), sizeof(struct ib_uverbs_ex_query_device_resp) },
		{ W_QUERY_PORT, IB_USER_VERBS_CMD_QUERY_PORT, false, &port, NULL, sizeof(port),
		  sizeof(struct ib_uverbs_query_port_resp) },
	};

	iwt_command(f, fd, &c[iwt_below(f, 3)]);
}

static void query_device_methods(struct fuzz *f, int fd)
{
	uint64_t object = 1 + iwt_below(f, 9), size = 32, port = 1;
	struct call c;

	switch (iwt_below(f, 4)) {
	case 0:
		iwt_call(&c, I_QUERY_CONTEXT, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
		iwt_out(&c, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, f->out, 4);
		iwt_out(&c, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, f->out + 8, 8);
		break;
	case 1:
		iwt_call(&c, I_INFO_HANDLES, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
		iwt_in(&c, UVERBS_ATTR_INFO_OBJECT_ID, &object, sizeof(object));
		iwt_out(&c, UVERBS_ATTR_INFO_TOTAL_HANDLES, f->out, 4);
		iwt_out(&c, UVERBS_ATTR_INFO_HANDLES_LIST, f->out + 8, 4 * 64);
		break;
	case 2:
		iwt_call(&c, I_QUERY_PORT, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
		iwt_in(&c, UVERBS_ATTR_QUERY_PORT_PORT_NUM, &port, sizeof(port));
		iwt_out(&c, UVERBS_ATTR_QUERY_PORT_RESP, f->out,
			sizeof(struct ib_uverbs_query_port_resp_ex));
		break;
	default:
		iwt_call(&c, I_QUERY_GIDS, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
		iwt_in(&c, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, &size, sizeof(size));
		size = 0;
		iwt_in(&c, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, &size, sizeof(size));
		iwt_out(&c, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, f->out, 32 * MAX_GIDS);
		iwt_out(&c, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES,
			f->out + 32 * MAX_GIDS, 8);
	}
	iwt_send(f, fd, &c);
}

static void query_gid(struct fuzz *f, int fd)
{
	uint64_t port = 1, index = iwt_chance(f, 10), flags = 0;
	struct call c;

	iwt_call(&c, I_QUERY_GID, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	iwt_in(&c, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, &port, sizeof(port));
	iwt_in(&c, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, &index, sizeof(index));
	iwt_in(&c, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, &flags, sizeof(flags));
	iwt_out(&c, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, f->out, 32);
	iwt_send(f, fd, &c);
}

static void query_mr(struct fuzz *f)
{
	struct obj *mr = iwt_pick(f, MR, -1);
	struct call c;

	if (!mr)
		return;
	iwt_call(&c, I_QUERY_MR, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	iwt_handle(&c, UVERBS_ATTR_QUERY_MR_HANDLE, mr->handle);
	iwt_out(&c, UVERBS_ATTR_QUERY_MR_RESP_LKEY, f->out, 4);
	iwt_out(&c, UVERBS_ATTR_QUERY_MR_RESP_RKEY, f->out + 8, 4);
	iwt_out(&c, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, f->out + 16, 8);
	iwt_out(&c, UVERBS_ATTR_QUERY_MR_RESP_IOVA, f->out + 24, 8);
	iwt_send(f, iwt_fd(f->w, mr), &c);
}

/*
 * Gives advice for a part of a region. The region need not be registered for on-demand paging,
 * and the part may exceed the end of the region.
 */
static void advise_mr(struct fuzz *f)
{
	struct obj *mr = iwt_pick(f, MR, -1), *pd = mr ? iwt_pick(f, PD, mr->ctx) : NULL;
	uint32_t advice = iwt_below(f, 4), flags = iwt_below(f, 3);
	struct ib_uverbs_sge sge[2];
	struct call c;

	if (!pd)
		return;
	sge[0] = (struct ib_uverbs_sge){ mr->addr + iwt_below(f, mr->bytes + 1), iwt_below(f, 4 * PAGE), mr->num };
	sge[1] = sge[0];
	iwt_call(&c, I_ADVISE_MR, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	iwt_handle(&c, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, mr->pd == pd->handle || iwt_chance(f, 20) ? pd->handle : mr->pd);
	iwt_in(&c, UVERBS_ATTR_ADVISE_MR_ADVICE, &advice, sizeof(advice));
	iwt_in(&c, UVERBS_ATTR_ADVISE_MR_FLAGS, &flags, sizeof(flags));
	iwt_in(&c, UVERBS_ATTR_ADVISE_MR_SGE_LIST, sge, (1 + iwt_below(f, 2)) * sizeof(sge[0]));
	iwt_send(f, iwt_fd(f->w, mr), &c);
}

static void async_events(struct fuzz *f, int ctx)
{
	struct ib_uverbs_attr *a;
	struct call c;

	iwt_call(&c, I_ASYNC_EVENT, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	a = iwt_handle(&c, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	if (iwt_send(f, f->w->ctx[ctx], &c))
		return;
	fcntl(a->data_s64, F_SETFL, O_NONBLOCK);
	iwt_new(f, CHANNEL, ctx, a->data_s64);
}

void iwt_op_query(struct fuzz *f)
{
	int ctx = iwt_below(f, CONTEXTS), fd = f->w->ctx[ctx];

	switch (iwt_below(f, 6)) {
	case 0:
	case 1:
		query_commands(f, fd);
		break;
	case 2:
	case 3:
		query_device_methods(f, fd);
		break;
	case 4:
		query_mr(f);
		query_gid(f, fd);
		advise_mr(f);
		break;
	default:
		async_events(f, ctx);
	}
}

/* Gives a command of any number, with random contents and lengths. */
void iwt_op_any_command(struct fuzz *f)
{
	uint8_t core[512];
	struct command c = {
		.m = W_REFUSED, .ex = iwt_chance(f, 30), .core = core,
		.core_len = iwt_below(f, 64) * 8, .answer_len = iwt_below(f, 64) * 8,
		.private_len = 0, .private_answer = iwt_below(f, 8) * 8,
	};
	struct obj *o = iwt_pick(f, iwt_below(f, CHANNEL), -1);
	uint32_t i, words[128];

	for (i = 0; i < 128; i++)
		words[i] = iwt_chance(f, 60) ? 0 : iwt_value(f);
	memcpy(core, words, sizeof(core));
	if (o)
		memcpy(core + 8, &o->handle, 4);
	/* not 0 (GET_CONTEXT): another step creates contexts */
	c.number = 1 + iwt_below(f, 62);
	iwt_command(f, f->w->ctx[iwt_below(f, CONTEXTS)], &c);
}

/* Calls any method of any object, including methods that only a newer kernel may have. */
void iwt_op_any_method(struct fuzz *f)
{
	struct obj *o = iwt_pick(f, iwt_below(f, SOCKET), -1);
	uint64_t some = iwt_value(f);
	bool own = iwt_chance(f, 40);
	struct call c;
	int i, n;

	iwt_call(&c, I_ANY, iwt_below(f, 18),
		 (own ? 1u << UVERBS_ID_NS_SHIFT : 0) + iwt_below(f, own ? 3 : 9));
	n = 1 + iwt_below(f, 8);
	for (i = 0; i < n; i++) {
		uint16_t id = (own ? 1u << UVERBS_ID_NS_SHIFT : 0) + i;

		switch (iwt_below(f, 3)) {
		case 0:
			iwt_handle(&c, id, o ? o->handle : 0);
			break;
		case 1:
			iwt_in(&c, id, &some, 4 << iwt_below(f, 2));
			break;
		default:
			iwt_out(&c, id, f->out + i * 512, iwt_below(f, 560));
		}
	}
	iwt_send(f, f->w->ctx[iwt_below(f, CONTEXTS)], &c);
}
