// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD library: changes the private parts of the provider's commands, as if another version
 * of the provider or of the module were used. IWT_SKEW selects the version:
 *
 *	features	an older provider, which knows only the features in the mask
 *			IWT_SKEW_FEATURES (default: none)
 *	short		an older provider, which expects shorter answers
 *	long		a newer provider, whose requests and answers are longer; the added bytes
 *			are zero
 *	context, cq, qp, srq, resize	a newer provider: this command requests something that the
 *			module does not know, and the kernel must refuse the command
 *	module		an older module, which has no features and none of the verbs that were
 *			added later
 *
 * At the end the library prints on standard error ("changed") how many commands of these kinds
 * the program has given, and how many of them were refused with EOPNOTSUPP.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#define MORE		16	/* bytes to add */
#define LESS		8	/* bytes to remove */
#define ATTRS		32
#define MAX		256

static unsigned int changed, refused;

/* A command with a private part, as the library sends it to the kernel */
struct command {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[ATTRS];
	uint8_t in[MAX], out[MAX];
};

static const char *skew(void)
{
	const char *s = getenv("IWT_SKEW");

	return s ? s : "";
}

__attribute__((destructor)) static void report(void)
{
	if (changed)
		fprintf(stderr, "# skew %s: %u changed, %u refused\n", skew(), changed, refused);
}

/* Return: the number of the write(2) command that this ioctl wraps, or 0 */
static uint64_t write_command(const struct ib_uverbs_ioctl_hdr *hdr)
{
	int i;

	for (i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == UVERBS_ATTR_WRITE_CMD)
			return hdr->attrs[i].data;
	return 0;
}

static const char *name_of(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->object_id == UVERBS_OBJECT_DEVICE &&
	    hdr->method_id == UVERBS_METHOD_INVOKE_WRITE) {
		switch (write_command(hdr)) {
		case IB_USER_VERBS_CMD_RESIZE_CQ: return "resize";
		case IB_USER_VERBS_CMD_ALLOC_MW: return "window";
		default: return NULL;
		}
	}
	if (hdr->object_id == UVERBS_OBJECT_SRQ && hdr->method_id == UVERBS_METHOD_SRQ_CREATE)
		return "srq";
	if (hdr->object_id == UVERBS_OBJECT_DEVICE &&
	    hdr->method_id == UVERBS_METHOD_GET_CONTEXT)
		return "context";
	if (hdr->object_id == UVERBS_OBJECT_CQ && hdr->method_id == UVERBS_METHOD_CQ_CREATE)
		return "cq";
	if (hdr->object_id == UVERBS_OBJECT_QP && hdr->method_id == UVERBS_METHOD_QP_CREATE)
		return "qp";
	return NULL;
}

static struct ib_uverbs_attr *find(struct command *c, uint16_t id)
{
	int i;

	for (i = 0; i < c->hdr.num_attrs; i++)
		if (c->attrs[i].attr_id == id)
			return &c->attrs[i];
	return NULL;
}

/*
 * Lengthens the private part of the request by MORE bytes. A private part of up to eight bytes is
 * in the attribute itself. @unknown: one of the added bytes is not zero, so the kernel must
 * refuse the command
 */
static void lengthen_in(struct command *c, bool unknown)
{
	struct ib_uverbs_attr *a = find(c, UVERBS_ATTR_UHW_IN);
	uint16_t len;

	if (!a) {
		a = &c->attrs[c->hdr.num_attrs++];
		*a = (struct ib_uverbs_attr) { .attr_id = UVERBS_ATTR_UHW_IN };
	}
	len = a->len;
	memset(c->in, 0, sizeof(c->in));
	memcpy(c->in, len > 8 ? (void *)(uintptr_t)a->data : &a->data, len);
	if (unknown)
		c->in[len + MORE - 1] = 1;
	a->len = len + MORE;
	a->data = (uintptr_t)c->in;
	c->hdr.length = sizeof(c->hdr) + c->hdr.num_attrs * sizeof(c->attrs[0]);
}

/*
 * Lengthens the private part of the answer by MORE bytes. Return: the number of bytes that the
 * provider expects, or 0. *@to: the address at which the provider expects these bytes
 */
static uint16_t lengthen_out(struct command *c, void **to)
{
	struct ib_uverbs_attr *a = find(c, UVERBS_ATTR_UHW_OUT);
	uint16_t len;

	if (!a)
		return 0;
	len = a->len;
	*to = (void *)(uintptr_t)a->data;
	memset(c->out, 0, sizeof(c->out));
	a->len = len + MORE;
	a->data = (uintptr_t)c->out;
	return len;
}

static void shorten(struct command *c)
{
	struct ib_uverbs_attr *a = find(c, UVERBS_ATTR_UHW_OUT);

	if (a && a->len > LESS)
		a->len -= LESS;
}

static void forget_features(struct command *c)
{
	struct ib_uverbs_attr *a = find(c, UVERBS_ATTR_UHW_IN);

	const char *known = getenv("IWT_SKEW_FEATURES");

	if (a && a->len == 8)
		a->data &= known ? strtoull(known, NULL, 0) : 0;
}

static int call(int fd, unsigned long request, void *arg)
{
	int (*next)(int, unsigned long, ...) =
		(int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");

	return next(fd, request, arg);
}

/*
 * Requests a context in such a way that the kernel has to refuse the request. This function uses
 * write(2), the older interface, because some kernels leak memory when they refuse the ioctl.
 */
static int write_context(int fd)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context cmd;
		uint64_t features;
		uint8_t more[MORE];
	} req = {};
	uint64_t answer[8];

	req.hdr.command = IB_USER_VERBS_CMD_GET_CONTEXT;
	req.hdr.in_words = sizeof(req) / 4;
	req.hdr.out_words = sizeof(answer) / 4;
	req.cmd.response = (uintptr_t)answer;
	req.more[MORE - 1] = 1;
	return write(fd, &req, sizeof(req)) < 0 ? -1 : 0;
}

/* Has the answer to this command become longer since the first version of the provider? */
static bool has_grown(const char *name)
{
	return !strcmp(name, "context") || !strcmp(name, "cq") || !strcmp(name, "qp");
}

static bool asks_for_times(const struct ib_uverbs_ioctl_hdr *hdr)
{
	int i;

	for (i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == UVERBS_ATTR_CREATE_CQ_FLAGS &&
		    hdr->attrs[i].data & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
			return true;
	return false;
}

/* Would the older module of IWT_SKEW=module refuse this command? */
static bool is_later(const struct ib_uverbs_ioctl_hdr *hdr, const char *name)
{
	if (!strcmp(name, "cq"))
		return asks_for_times(hdr);
	return !has_grown(name);
}

static int skewed(int fd, struct ib_uverbs_ioctl_hdr *hdr, const char *name)
{
	static const uint8_t none[MORE];
	struct command c = {};
	const char *how = skew();
	bool unknown = !strcmp(how, name);
	uint16_t len = 0;
	void *to = NULL;
	int ret, i;

	if (!strcmp(how, "module") && is_later(hdr, name)) {
		changed++;
		refused++;
		errno = EOPNOTSUPP;
		return -1;
	}
	memcpy(&c, hdr, hdr->length);
	if (unknown || !strcmp(how, "long"))
		lengthen_in(&c, unknown);
	if (!strcmp(how, "long"))
		len = lengthen_out(&c, &to);
	if (!strcmp(how, "short") && has_grown(name))
		shorten(&c);
	if ((!strcmp(how, "features") || !strcmp(how, "module")) && !strcmp(name, "context"))
		forget_features(&c);
	changed++;
	if (unknown && !strcmp(name, "context"))
		ret = write_context(fd);
	else
		ret = call(fd, RDMA_VERBS_IOCTL, &c);
	if (ret && errno == EOPNOTSUPP)
		refused++;
	if (len) {
		memcpy(to, c.out, len);
		if (memcmp(c.out + len, none, MORE))
			abort();
	}
	/* the kernel writes the handles of new objects into the attributes */
	for (i = 0; i < hdr->num_attrs; i++)
		if (c.attrs[i].attr_id != UVERBS_ATTR_UHW_IN &&
		    c.attrs[i].attr_id != UVERBS_ATTR_UHW_OUT)
			hdr->attrs[i] = c.attrs[i];
	return ret;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	const char *name = NULL;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	hdr = arg;
	if (request == RDMA_VERBS_IOCTL && hdr->num_attrs < ATTRS)
		name = name_of(hdr);
	return name && *skew() ? skewed(fd, hdr, name) : call(fd, request, arg);
}
