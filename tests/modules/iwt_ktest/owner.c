// SPDX-License-Identifier: GPL-2.0
/* A queue pair can only be connected by the rdma_cm_id for which it was created. */
#include <linux/completion.h>

#include "kt.h"

static DECLARE_COMPLETION(go);

/* Checks that the idle connection can still be established, and that messages arrive. */
static int works(struct kt_conn *c)
{
	int err = iwt_kt_establish(c);

	if (kt_bad(c, err, "cannot connect: error %d", err))
		return -EIO;
	return iwt_kt_sync(&c->c) ?: iwt_kt_sync(&c->s);
}

/*
 * The second rdma_cm_id has no queue pair. A process can call rdma_connect() with this rdma_cm_id
 * and the number of the queue pair of the first rdma_cm_id. Such a call must fail.
 */
static int connect_other(struct kt_conn *c)
{
	struct rdma_conn_param param = { .qp_num = c->c.qp->qp_num };
	int err = iwt_kt_resolve_other(c, 0);

	if (kt_bad(c, err, "no second identifier: error %d", err))
		return -EIO;
	err = rdma_connect(c->o.id, &param);
	if (kt_bad(c, err != -EINVAL, "connecting with another's queue pair: %d", err))
		return -EIO;
	return works(c);
}

/*
 * The server must not accept with the queue pair of another rdma_cm_id. The number of a queue
 * pair is valid on one device only, so the case creates the other queue pair on the listener's
 * device. Afterwards the other rdma_cm_id must still be able to connect with its queue pair.
 */
static int accept_other(struct kt_conn *c)
{
	struct rdma_conn_param param = {};
	int err = iwt_kt_resolve_other(c, 1) ?: iwt_kt_make_end(&c->o);

	if (kt_bad(c, err, "no second end: error %d", err))
		return -EIO;
	c->name = c->o.qp->qp_num;
	err = rdma_connect(c->c.id, &param);
	if (kt_bad(c, err, "cannot send the request: error %d", err))
		return -EIO;
	wait_event_timeout(c->wait, READ_ONCE(c->c.failed), KT_PATIENCE);
	if (kt_bad(c, !c->named, "no request arrived") ||
	    kt_bad(c, c->named != -EINVAL, "accepting with another's queue pair: %d", c->named) ||
	    kt_bad(c, !c->c.failed, "the initiator is not rejected"))
		return -EIO;
	c->name = 0;
	c->c.failed = 0;
	err = rdma_connect(c->o.id, &param) ?: iwt_kt_wait_flag(c, &c->o.established);
	return kt_bad(c, err, "the owner cannot connect: error %d", err);
}

/**
 * iwt_kt_wait_go() - wait for iwt_kt_go()
 *
 * Return: 0 or -ETIMEDOUT.
 */
int iwt_kt_wait_go(void)
{
	return wait_for_completion_timeout(&go, KT_PATIENCE) ? 0 : -ETIMEDOUT;
}

/**
 * iwt_kt_go() - continue the case that waits in iwt_kt_wait_go()
 */
void iwt_kt_go(void)
{
	complete(&go);
}

/* Until a line is written to "go", processes try to connect the idle queue pair by its number. */
static int processes(struct kt_conn *c)
{
	if (kt_bad(c, iwt_kt_wait_go(), "no line arrived in \"go\""))
		return -EIO;
	return works(c);
}

const struct kt_case iwt_kt_owner[] = {
	{ "another identifier connects with the queue pair", connect_other, 0, true },
	{ "another identifier accepts with the queue pair", accept_other, 0, true },
	{}
};

const struct kt_case iwt_kt_named[] = {
	{ "processes name the idle queue pair", processes, 0, true },
	{}
};
