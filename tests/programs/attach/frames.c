// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that the library never passes to the driver: of a wrong length, of the wrong kind, or with
 * flags that the link does not allow. This file calls the driver's methods without the library.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/iw_tcp-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "attach.h"

#define FRAME		532
#define HEADER		20
#define FLAGS		16	/* offset of the flags in the header */
#define F_CRC		0x40
#define F_LARGE		0x08

struct frame {
	uint8_t at[FRAME];
	size_t len;
};

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[8];
};

static struct ib_uverbs_attr *add(struct call *c, uint16_t id, const void *at, size_t len)
{
	struct ib_uverbs_attr *a = &c->attr[c->hdr.num_attrs++];

	a->attr_id = id;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	a->len = len;
	a->data = (uintptr_t)at;
	return a;
}

/* Return: 0 or an errno value. */
static int method(const struct end *e, struct call *c, uint16_t object, uint16_t id)
{
	c->hdr.object_id = object;
	c->hdr.method_id = id;
	c->hdr.driver_id = RDMA_DRIVER_IW_TCP;
	c->hdr.length = sizeof(c->hdr) + c->hdr.num_attrs * sizeof(c->attr[0]);
	return ioctl(e->ctx->cmd_fd, RDMA_VERBS_IOCTL, c) ? errno : 0;
}

/* Adds the queue pair, the socket and the parameters. */
static void add_end(struct call *c, const struct end *e, const struct iwt_mpa_param *param)
{
	add(c, IWT_ATTR_MPA_QP, NULL, 0)->data = e->qp->handle;
	add(c, IWT_ATTR_MPA_FD, NULL, 0)->data = e->fd;
	add(c, IWT_ATTR_MPA_PARAM, param, sizeof(*param));
}

static const struct iwt_mpa_param usual = { .ird = 4, .ord = 4 };

static void set_length(struct frame *f)
{
	f->len = HEADER + (f->at[HEADER - 2] << 8 | f->at[HEADER - 1]);
}

static int build_request(const struct end *e, struct frame *f)
{
	struct call c = {};
	int err;

	add_end(&c, e, &usual);
	add(&c, IWT_ATTR_MPA_PRIVATE_DATA, "private data", 12);
	add(&c, IWT_ATTR_MPA_FRAME, f->at, FRAME);
	err = method(e, &c, UVERBS_OBJECT_QP, IWT_METHOD_MPA_REQUEST);
	set_length(f);
	return err;
}

/* Builds a Reply that rejects @req. */
static int build_reject(const struct end *e, const struct frame *req, struct frame *f)
{
	struct call c = {};
	int err;

	add(&c, IWT_ATTR_MPA_PRIVATE_DATA, "no", 2);
	add(&c, IWT_ATTR_MPA_REQUEST, req->at, req->len);
	add(&c, IWT_ATTR_MPA_FRAME, f->at, FRAME);
	err = method(e, &c, UVERBS_OBJECT_DEVICE, IWT_METHOD_MPA_REJECT);
	set_length(f);
	return err;
}

/* Attaches as the initiator, or as the responder if @rep is NULL. */
static int start(const struct end *e, const struct frame *req, const struct frame *rep,
		 const struct iwt_mpa_param *param)
{
	struct iwt_mpa_result result;
	struct call c = {};

	add_end(&c, e, param);
	add(&c, IWT_ATTR_MPA_REQUEST, req->at, req->len);
	if (rep)
		add(&c, IWT_ATTR_MPA_REPLY, rep->at, rep->len);
	add(&c, IWT_ATTR_MPA_RESULT, &result, sizeof(result));
	return method(e, &c, UVERBS_OBJECT_QP, IWT_METHOD_MPA_START);
}

/* Both ends: the driver must refuse the frames, and leave the socket to the program. */
static void refused(struct end *e[2], const struct frame *req, const struct frame *rep, int err,
		    const char *what)
{
	struct end *from = rep ? e[0] : e[1];
	char text[100];

	snprintf(text, sizeof(text), "frames: %s: %s", rep ? "initiator" : "responder", what);
	iwt_is(start(from, req, rep, &usual), err, text);
	iwt_ok(iwt_say(e[0]->fd, "still TCP") && iwt_hear(e[1]->fd, "still TCP") &&
	       iwt_say(e[1]->fd, "indeed") && iwt_hear(e[0]->fd, "indeed"),
	       "frames: the socket is unchanged");
}

static void wrong_frames(struct end *e[2], const struct frame *req, const struct frame *rep)
{
	struct frame f = *req;

	f.len++;
	refused(e, &f, NULL, EPROTO, "an octet behind the Request");
	refused(e, &f, rep, EINVAL, "an octet behind the Request");
	f.len -= 2;
	refused(e, &f, NULL, EPROTO, "the last octet of the Request is missing");
	refused(e, &f, rep, EINVAL, "the last octet of the Request is missing");
	refused(e, rep, NULL, EPROTO, "a Reply in place of the Request");
	refused(e, rep, rep, EINVAL, "a Reply in place of the Request");
	f = *rep;
	f.len++;
	refused(e, req, &f, EPROTO, "an octet behind the Reply");
	f.len -= 2;
	refused(e, req, &f, EPROTO, "the last octet of the Reply is missing");
	refused(e, req, req, EPROTO, "a Request in place of the Reply");
	refused(e, req, rep, EINVAL, "a Reply that rejects");
	f = *req;
	f.at[FLAGS] |= F_LARGE;
	refused(e, &f, rep, EINVAL, "the Request offers what the link does not");
	f = *req;
	f.at[FLAGS] &= ~F_CRC;
	if (!iwt_link.no_crc)
		refused(e, &f, rep, EINVAL, "the Request does not require the CRC");
}

static void wrong_params(const struct end *e, const struct frame *req)
{
	struct iwt_mpa_param param = usual;

	param.flags = IWT_MPA_CRC;
	iwt_is(start(e, req, NULL, &param), EOPNOTSUPP, "frames: a flag that the driver reports");
	param.flags = 0;
	param.reserved = 1;
	iwt_is(start(e, req, NULL, &param), EOPNOTSUPP, "frames: a reserved field");
}

void iwt_frames(void)
{
	struct frame req, rep;
	struct end *e[2];
	int fds[2], i;

	iwt_tcp_pair(iwt_ip, fds);
	for (i = 0; i < 2; i++) {
		e[i] = iwt_open();
		e[i]->fd = fds[i];
	}
	iwt_is(build_request(e[0], &req), 0, "frames: a Request");
	iwt_is(build_reject(e[0], &req, &rep), 0, "frames: a Reply");
	wrong_frames(e, &req, &rep);
	wrong_params(e[1], &req);
	iwt_is(start(e[1], &req, NULL, &usual), 0, "frames: after all that, the responder attaches");
	iwt_close_pair(e);
}
