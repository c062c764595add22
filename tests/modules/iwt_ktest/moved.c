// SPDX-License-Identifier: GPL-2.0
/*
 * A net device moves to another network namespace while a consumer connects from this net device.
 * A script checks that the link of the net device can still be deleted.
 */
#include "kt.h"

/**
 * iwt_kt_removal() - delay the removal of the client's device while the case connects
 * @c: connection
 *
 * Called for the event DEVICE_REMOVAL of the client's rdma_cm_id. rdma_cm reports the removal
 * to the other rdma_cm_id of the same device only after this function returns.
 */
void iwt_kt_removal(struct kt_conn *c)
{
	if (!c->wants_removal)
		return;
	WRITE_ONCE(c->removing, true);
	wake_up_all(&c->wait);
	wait_event_timeout(c->wait, READ_ONCE(c->dial_late), KT_PATIENCE);
}

/*
 * Connecting must fail: the old namespace does not have the address any more, and in the new
 * namespace another net device has the address. The script writes a line to "go" when the net
 * device has moved.
 */
static int dial_late(struct kt_conn *c)
{
	struct rdma_conn_param param = {};
	int err = iwt_kt_resolve_other(c, 0) ?: iwt_kt_make_end(&c->o);

	if (kt_bad(c, err, "no second end: error %d", err))
		return -EIO;
	c->wants_removal = true;
	wait_event_timeout(c->wait, READ_ONCE(c->removing), KT_PATIENCE);
	if (kt_bad(c, !c->removing || iwt_kt_wait_go(), "the device is not removed"))
		return -EIO;
	err = rdma_connect(c->o.id, &param);
	WRITE_ONCE(c->dial_late, err ?: 1);
	wake_up_all(&c->wait);
	return kt_bad(c, err != -EADDRNOTAVAIL,
		      "connecting after the move: %d", err);
}

const struct kt_case iwt_kt_moved[] = {
	{ "connecting fails after the net device has moved away", dial_late, 0, true },
	{}
};
