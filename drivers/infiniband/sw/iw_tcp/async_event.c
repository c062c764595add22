// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events of queue pairs, completion queues and shared receive queues.
 *
 * Events are raised in softirq, under locks. A consumer's handler may sleep, and may call verbs
 * of the same object, except verbs that destroy the object. So a work item calls the handler. An
 * event that is raised again before it is reported is reported once.
 *
 * A process reads its events from a file of uverbs; uverbs allocates memory for each unread event
 * and charges it to nobody. So an event that a process can raise at no cost must not be reported
 * while the process has not read the last event.
 */
#include "async_event.h"

#include "dawdle.h"

/*
 * The first fields of uverbs objects that have events (struct ib_uevent_object in
 * drivers/infiniband/core/uverbs.h, a header that modules can't include).
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
 * iwt_async_setup() - initialise the events of an object
 * @async: events of the object, zeroed
 * @tell: reports one event to the consumer; process context, may sleep
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
 * @uobject: the object's uverbs object, set up; NULL for a kernel consumer
 *
 * If uverbs objects of the running kernel have a different layout, this function does not set
 * @async->unread, and iwt_async_unread() always returns false. Any context.
 */
void iwt_async_of_process(struct iwt_async *async, const void *uobject)
{
	const struct uevent_object *of = uobject;

	if (of && of->event_list.next == &of->event_list &&
	    of->event_list.prev == &of->event_list)
		async->unread = &of->event_list;
}

/**
 * iwt_async_unread() - has the process an unread event?
 * @async: events of the object
 *
 * Call this function in async->tell(), the only function that adds events to the list; the
 * process may read events at the same time. If an event of the same kind is still unread, a new
 * one carries no new information.
 *
 * Return: true if an event is unread; false if no event is unread, or if the layout is unknown.
 */
bool iwt_async_unread(const struct iwt_async *async)
{
	return async->unread && !list_empty(async->unread);
}

/**
 * iwt_async_raise() - queue the report of an event to the consumer
 * @async: events of the object
 * @what: event
 *
 * Any context, any lock may be held. The object must not be freed meanwhile: the caller holds a
 * reference, or the destroyer of the object waits for the caller before iwt_async_quiesce().
 */
void iwt_async_raise(struct iwt_async *async, enum ib_event_type what)
{
	set_bit(what, &async->raised);
	iwt_dawdle();
	schedule_work(&async->work);
}

/**
 * iwt_async_quiesce() - stop reporting events
 * @async: events of an object that is being destroyed and raises no events any more
 *
 * Events that are not reported yet are dropped. May sleep: waits until the consumer's handler has
 * returned. A work item of a WQ_MEM_RECLAIM queue may call this function, too, because the
 * function cancels the work item of @async and does not flush that work item.
 */
void iwt_async_quiesce(struct iwt_async *async)
{
	cancel_work_sync(&async->work);
}
