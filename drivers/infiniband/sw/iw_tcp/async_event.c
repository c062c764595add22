// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events of queue pairs, completion queues and shared receive queues.
 *
 * Events may be raised in softirq, under locks. A consumer's handler may sleep, and may call
 * verbs on the object that has the event, except verbs that destroy the object. So a work item
 * calls the handler. If an event is raised again before the work item reports it, the event is
 * reported only once.
 *
 * A process reads its events from a file of uverbs. uverbs allocates memory for each unread
 * event, and does not charge this memory to any process. So if a process can raise an event at no
 * cost, the event must not be reported while the process has an unread event of the same object.
 */
#include "async_event.h"

#include "dawdle.h"

/*
 * The first fields of the uverbs objects that have events: a copy of the beginning of struct
 * ib_uevent_object in drivers/infiniband/core/uverbs.h, a header that modules can't include.
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
 * iwt_async_of_process() - find the list in which uverbs stores the unread events of an object
 * @async: events of an object that is being created
 * @uobject: the object's uverbs object, which uverbs has initialised; NULL for a kernel consumer
 *
 * This function sets @async->unread, for iwt_async_unread(). @async->unread stays NULL for a
 * kernel consumer, and if uverbs objects of the running kernel have another layout than struct
 * uevent_object. Any context.
 */
void iwt_async_of_process(struct iwt_async *async, const void *uobject)
{
	const struct uevent_object *of = uobject;

	if (of && of->event_list.next == &of->event_list &&
	    of->event_list.prev == &of->event_list)
		async->unread = &of->event_list;
}

/**
 * iwt_async_unread() - does a process have an unread event of the object?
 * @async: events of the object
 *
 * Only async->tell() adds events to the list of unread events, so async->tell() knows of all of
 * them. A caller in another context may miss an event that is raised but not told yet. The object
 * must not be destroyed meanwhile. The process may remove events from the list at the same time.
 * Any context.
 *
 * Return: true if an event is unread; false if no event is unread, or if @async->unread is NULL.
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
 * reference, or the function that destroys the object waits for the caller before it calls
 * iwt_async_quiesce().
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
 * returned. A work item of a WQ_MEM_RECLAIM workqueue may call this function, too. Such a work
 * item may cancel @async->work, but must not flush @async->work, because @async->work is not on a
 * WQ_MEM_RECLAIM workqueue.
 */
void iwt_async_quiesce(struct iwt_async *async)
{
	cancel_work_sync(&async->work);
}
