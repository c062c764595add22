/* SPDX-License-Identifier: GPL-2.0 */
/* Asynchronous events, which the consumer of an object is told in process context. */
#ifndef IWT_ASYNC_EVENT_H
#define IWT_ASYNC_EVENT_H

#include <linux/list.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/**
 * struct iwt_async - the asynchronous events of one object
 * @raised: those that are still to be told, a bit each; atomic
 * @work: tells them
 * @tell: tells the consumer of one. Process context, may sleep; never twice at a time
 * @unread: those that a process has not read yet, a list of uverbs; NULL for a kernel consumer
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
bool iwt_async_unread(const struct iwt_async *async);
void iwt_async_raise(struct iwt_async *async, enum ib_event_type what);
void iwt_async_quiesce(struct iwt_async *async);

#endif
