// SPDX-License-Identifier: GPL-2.0
/* Builds calls of methods for ioctl(2), mutates and sends them. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "fuzzabi.h"

void iwt_call(struct call *c, enum method m, uint16_t object, uint16_t method)
{
	memset(c, 0, sizeof(*c));
	c->m = m;
	c->hdr.object_id = object;
	c->hdr.method_id = method;
	c->hdr.driver_id = RDMA_DRIVER_IW_TCP;
}

static struct ib_uverbs_attr *next(struct call *c, uint16_t id)
{
	struct ib_uverbs_attr *a = &c->attr[c->n++];

	a->attr_id = id;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	return a;
}

/*
 * Adds an input. The attribute contains the bytes if there are at most eight, otherwise their
 * address.
 */
void iwt_in(struct call *c, uint16_t id, const void *at, size_t len)
{
	struct ib_uverbs_attr *a = next(c, id);

	a->len = len;
	if (len <= sizeof(a->data))
		memcpy(&a->data, at, len);
	else
		a->data = (uintptr_t)at;
}

void iwt_out(struct call *c, uint16_t id, void *at, size_t len)
{
	struct ib_uverbs_attr *a = next(c, id);

	a->len = len;
	a->data = (uintptr_t)at;
}

/*
 * Adds a handle or a descriptor. If the method creates an object, the kernel replaces @handle by
 * the handle of the new object in the attribute that this function returns.
 */
struct ib_uverbs_attr *iwt_handle(struct call *c, uint16_t id, int64_t handle)
{
	struct ib_uverbs_attr *a = next(c, id);

	a->data_s64 = handle;
	return a;
}

static void change_attr(struct fuzz *f, struct call *c)
{
	struct ib_uverbs_attr *a = &c->attr[iwt_below(f, c->n)];

	switch (iwt_below(f, 9)) {
	case 0:
		a->attr_id = iwt_chance(f, 50) ? iwt_below(f, 18) :
			     (1u << UVERBS_ID_NS_SHIFT) + iwt_below(f, 10);
		break;
	case 1:
		a->len = iwt_value(f);
		break;
	case 2:
		a->flags = iwt_below(f, 4) | iwt_below(f, 2) * iwt_value(f);
		break;
	case 3:
	case 4:
		a->data = iwt_pointer(f);
		break;
	case 5:
		a->len += iwt_chance(f, 50) ? 8 : -8;
		break;
	case 6:
		c->n--;
		*a = c->attr[c->n];
		break;
	case 7:
		if (c->n < 16)
			c->attr[c->n++] = *a;
		break;
	default:
		iwt_mutate(f, a, sizeof(*a));
	}
}

static void change_header(struct fuzz *f, struct call *c)
{
	switch (iwt_below(f, 4)) {
	case 0:
		c->hdr.object_id = iwt_below(f, 18);
		break;
	case 1:
		c->hdr.method_id = iwt_chance(f, 50) ? iwt_below(f, 8) :
				   (1u << UVERBS_ID_NS_SHIFT) + iwt_below(f, 4);
		break;
	default:
		iwt_mutate(f, &c->hdr, sizeof(c->hdr));
	}
}

/*
 * Return: true if the call must not be sent: a mutation has made it GET_CONTEXT. If this method
 * fails, RDMA core of some kernels leaks a reference to the task. Such leaks would hide all other
 * leaks.
 */
static bool spared(const struct call *c)
{
	return c->m != I_GET_CONTEXT && c->hdr.object_id == UVERBS_OBJECT_DEVICE &&
	       c->hdr.method_id == UVERBS_METHOD_GET_CONTEXT;
}

/*
 * Sends a call. The kernel writes into the request, and a mutation may make the request's length
 * too large, so the request has its own memory. Return: 0 or an errno value.
 */
static int submit(struct fuzz *f, int fd, struct call *c)
{
	unsigned long request = RDMA_VERBS_IOCTL;
	uint64_t at = (uintptr_t)f->out + OUT_REQUEST;
	size_t len = offsetof(struct call, m);
	int err;

	memcpy((void *)(uintptr_t)at, c, len);
	/*
	 * sometimes the request is in memory that may be unmapped, or its ioctl number is wrong
	 */
	if (f->hot && iwt_chance(f, 1))
		err = ioctl(fd, request, iwt_pointer(f)) ? errno : 0;
	else if (f->hot && iwt_chance(f, 1))
		err = ioctl(fd, request ^ 1u << iwt_below(f, 32), at) ? errno : 0;
	else
		err = ioctl(fd, request, at) ? errno : 0;
	memcpy(c, (void *)(uintptr_t)at, len);
	return err;
}

/* Mutates a call, and sends it. Return: 0 or an errno value. */
int iwt_send(struct fuzz *f, int fd, struct call *c)
{
	int err, n;

	if (iwt_hot(f) && c->m != I_GET_CONTEXT)
		for (n = 1 + iwt_below(f, 3); n && c->n; n--)
			change_attr(f, c);
	c->hdr.num_attrs = c->n;
	c->hdr.length = sizeof(c->hdr) + c->n * sizeof(c->attr[0]);
	if (f->hot && iwt_chance(f, 5) && c->m != I_GET_CONTEXT)
		change_header(f, c);
	if (spared(c))
		return EINVAL;
	err = submit(f, fd, c);
	iwt_count(c->m, err);
	return err;
}
