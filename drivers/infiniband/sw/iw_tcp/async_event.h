/* SPDX-License-Identifier: GPL-2.0 */
/* Asynchronous events, which are reported to the consumer of an object in process context. */
#ifndef IWT_ASYNC_EVENT_H
#define IWT_ASYNC_EVENT_H

#include <linux/list.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/**
 * struct iwt_async - the asynchronous events of one object
 * @raised: events that are still to be reported: bit n is the event n of enum ib_event_type;
 *	atomic
 * @work: reports the events
 * @tell: reports one event to the consumer. Process context, may sleep; for one object, no two
 *	calls run at the same time
 * @unread: list, in the uverbs object, of the events that the process has not read; NULL for a
 *	kernel consumer, or if the layout of uverbs objects is unknown
 */
struct iwt_async {
	unsigned long raised;
	struct work_struct work;
	void (*tell)(struct iwt_async *async, enum ib_event_type what);
	const struct list_head *unread;
};

void iwt_async_setup(struct iwt_async *async,
		     void (*tell)(struct iwt_async *async, enum ib_event_type what));
void iwt_async_of_process(struct iwt_async *async, const void *uobject);
/* Does the process have an unread event of the object? */
bool iwt_async_unread(const struct iwt_async *async);
void iwt_async_raise(struct iwt_async *async, enum ib_event_type what);
void iwt_async_quiesce(struct iwt_async *async);

#endif
