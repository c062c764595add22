// SPDX-License-Identifier: GPL-2.0
/* Commands of uverbs, given by write(2) or by the method INVOKE_WRITE. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "fuzzabi.h"

#define MOST	1024

struct request {
	uint8_t at[MOST];
	size_t len;
};

static void add(struct request *r, const void *at, size_t len)
{
	if (r->len + len > MOST)
		return;
	memcpy(r->at + r->len, at, len);
	r->len += len;
}

static void put_pointer(uint8_t *to, const void *p)
{
	uint64_t v = (uintptr_t)p;

	memcpy(to, &v, sizeof(v));
}

/*
 * Builds a command: the header, the part for RDMA core, and the part for the driver. If there is
 * an answer, RDMA core's part begins with the address for it.
 */
static void plain(struct fuzz *f, const struct command *c, struct request *r)
{
	struct ib_uverbs_cmd_hdr hdr = {
		.command = c->number,
		.in_words = (sizeof(hdr) + c->core_len + c->private_len) / 4,
		.out_words = (c->answer_len + c->private_answer) / 4,
	};

	add(r, &hdr, sizeof(hdr));
	add(r, c->core, c->core_len);
	add(r, c->private, c->private_len);
	if (c->answer_len && c->core_len >= 8)
		put_pointer(r->at + sizeof(hdr), f->out);
}

static void extended(struct fuzz *f, const struct command *c, struct request *r)
{
	struct ib_uverbs_cmd_hdr hdr = {
		.command = c->number | IB_USER_VERBS_CMD_FLAG_EXTENDED,
		.in_words = c->core_len / 8,
		.out_words = c->answer_len / 8,
	};
	struct ib_uverbs_ex_cmd_hdr ex = {
		.response = c->answer_len + c->private_answer ? (uintptr_t)f->out : 0,
		.provider_in_words = c->private_len / 8,
		.provider_out_words = c->private_answer / 8,
	};

	add(r, &hdr, sizeof(hdr));
	add(r, &ex, sizeof(ex));
	add(r, c->core, c->core_len);
	add(r, c->private, c->private_len);
}

static int by_write(struct fuzz *f, int fd, const struct command *c)
{
	struct request r = {};
	int err;

	if (c->ex)
		extended(f, c, &r);
	else
		plain(f, c, &r);
	if (iwt_hot(f))
		iwt_mutate(f, r.at, r.len);
	if (f->hot && iwt_chance(f, 4))
		r.len = iwt_below(f, MOST);
	/* sometimes the request is in memory that may be unmapped */
	if (f->hot && iwt_chance(f, 3))
		err = write(fd, (void *)(uintptr_t)iwt_pointer(f), r.len) < 0 ? errno : 0;
	else
		err = write(fd, r.at, r.len) < 0 ? errno : 0;
	iwt_count(c->m, err);
	return err;
}

static int by_method(struct fuzz *f, int fd, const struct command *c)
{
	uint64_t number = c->number | (c->ex ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
	uint8_t core[MOST], private[64] = {};
	struct call call;

	memcpy(core, c->core, c->core_len);
	memcpy(private, c->private_len ? c->private : "", c->private_len);
	if (iwt_hot(f))
		iwt_mutate(f, core, c->core_len);
	iwt_call(&call, c->m, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	iwt_in(&call, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number));
	iwt_in(&call, UVERBS_ATTR_CORE_IN, core, c->core_len);
	if (c->answer_len)
		iwt_out(&call, UVERBS_ATTR_CORE_OUT, f->out, c->answer_len);
	if (c->private_len)
		iwt_in(&call, UVERBS_ATTR_UHW_IN, private, c->private_len);
	if (c->private_answer)
		iwt_out(&call, UVERBS_ATTR_UHW_OUT, f->out + c->answer_len,
			c->private_answer);
	return iwt_send(f, fd, &call);
}

/*
 * Changes the lengths of the driver's parts of request and answer. The request stays consistent.
 */
static struct command other_lengths(struct fuzz *f, const struct command *c,
				    uint64_t private[8])
{
	struct command o = *c;
	int i;

	for (i = 0; i < 8; i++)
		private[i] = iwt_chance(f, 80) ? 0 : iwt_value(f);
	if (c->private_len)
		memcpy(private, c->private, c->private_len);
	o.private = private;
	if (iwt_chance(f, 60))
		o.private_len = 8 * iwt_below(f, 9);
	if (iwt_chance(f, 60))
		o.private_answer = 8 * iwt_below(f, 24);
	return o;
}

/*
 * Gives a command. The kernel writes RDMA core's answer into f->out, and the driver's answer
 * after it. Return: 0 or an errno value.
 */
int iwt_command(struct fuzz *f, int fd, const struct command *c)
{
	uint64_t private[8];
	struct command other;

	memset(f->out, 0, 512);
	if (iwt_hot(f) && iwt_chance(f, 20)) {
		other = other_lengths(f, c, private);
		c = &other;
	}
	/* the method INVOKE_WRITE cannot create a context */
	if (c->m != W_GET_CONTEXT && iwt_chance(f, 40))
		return by_method(f, fd, c);
	return by_write(f, fd, c);
}
