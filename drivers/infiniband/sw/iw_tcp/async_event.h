/* SPDX-License-Identifier: GPL-2.0 */
/* Asynchronous events, which the consumer of an object is told in process context. */
#ifndef IWT_ASYNC_EVENT_H
#define IWT_ASYNC_EVENT_H

#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/**
 * struct iwt_async - the asynchronous events of one object
 * @raised: those that are still to be told, a bit each; atomic
 * @work: tells them
 * @tell: tells the consumer of one. Process context, may sleep; never twice at a time
 */
struct iwt_async {
	unsigned long raised;
	struct work_struct work;
	void (*tell)(struct iwt_async *async, enum ib_event_type what);
};

void iwt_async_setup(struct iwt_async *async,
		     void (*tell)(struct iwt_async *async, enum ib_event_type what));
void iwt_async_raise(struct iwt_async *async, enum ib_event_type what);
void iwt_async_quiesce(struct iwt_async *async);

#endif
