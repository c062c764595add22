// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events of queue pairs, completion queues and shared receive queues.
 *
 * They happen in softirq, under locks. A consumer's handler may sleep, and may call verbs of the
 * same object, except those that destroy it. So a work item calls it. An event that is raised
 * again before it is told is told once.
 *
 * A process reads its events, each of which is memory that uverbs charges to nobody, from a file.
 * So an event that costs the process nothing to raise must not be told while it has not read the
 * last one.
 */
#include "async_event.h"

#include "dawdle.h"

/*
 * The beginning of the objects of uverbs that have events (struct ib_uevent_object in
 * drivers/infiniband/core/uverbs.h, of which no header for modules tells).
 */
struct uevent_object {
	struct ib_uobject uobject;
	void *event_file;
	struct list_head event_list;
};

static void tell_all(struct work_struct *work)
{
	struct iwt_async *async = container_of(work, struct iwt_async, work);
	unsigned long raised = xchg(&async->raised, 0);
	unsigned long what;

	for_each_set_bit(what, &raised, BITS_PER_LONG)
		async->tell(async, what);
}

/**
 * iwt_async_setup() - an object that has no events yet
 * @async: its events, zeroed
 * @tell: tells its consumer of one event; process context, may sleep
 *
 * Any context.
 */
void iwt_async_setup(struct iwt_async *async,
		     void (*tell)(struct iwt_async *async, enum ib_event_type what))
{
	async->tell = tell;
	INIT_WORK(&async->work, tell_all);
}

/**
 * iwt_async_of_process() - the consumer is a process, which reads its events from a file
 * @async: events of an object that is being created
 * @uobject: of uverbs, which has set it up; NULL for a kernel consumer
 *
 * A kernel whose objects look different is noticed, and then iwt_async_unread() knows nothing.
 * Any context.
 */
void iwt_async_of_process(struct iwt_async *async, const void *uobject)
{
	const struct uevent_object *of = uobject;

	if (of && of->event_list.next == &of->event_list &&
	    of->event_list.prev == &of->event_list)
		async->unread = &of->event_list;
}

/**
 * iwt_async_unread() - is there an event that the process has not read?
 * @async: events of the object
 *
 * In async->tell(), which alone adds to the list; the process reads meanwhile. An event that was
 * raised before the process reads another one of its kind tells it nothing new.
 *
 * Return: true if there is; false if there is none or nobody knows.
 */
bool iwt_async_unread(const struct iwt_async *async)
{
	return async->unread && !list_empty(async->unread);
}

/**
 * iwt_async_raise() - tell the consumer of an event soon
 * @async: events of the object
 * @what: event
 *
 * Any context, any lock may be held. The object must not end meanwhile: the caller has a
 * reference, or the object waits for the caller before iwt_async_quiesce().
 */
void iwt_async_raise(struct iwt_async *async, enum ib_event_type what)
{
	set_bit(what, &async->raised);
	iwt_dawdle();
	schedule_work(&async->work);
}

/**
 * iwt_async_quiesce() - tell nothing more
 * @async: events of an object that is being destroyed, which raises none any more
 *
 * What was not told until now is forgotten. May sleep: waits until the consumer's handler has
 * returned. Also in a work item of memory reclaim: to cancel a work item is not to flush it.
 */
void iwt_async_quiesce(struct iwt_async *async)
{
	cancel_work_sync(&async->work);
}
