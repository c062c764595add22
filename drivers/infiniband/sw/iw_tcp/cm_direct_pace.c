// SPDX-License-Identifier: GPL-2.0
/*
 * Direct connections: how often queue pairs that wait for their peers try to connect.
 *
 * A work makes the attempts, and no process is charged for the processor time of the attempts.
 * Without a limit, thousands of queue pairs that never find their peers would take a whole
 * processor from other processes, and would delay the attempts of other queue pairs. So all queue
 * pairs of a user on one link share a number of attempts per second: the more queue pairs wait,
 * the longer each of these queue pairs pauses between two attempts. The first attempts of a queue
 * pair are not slowed down in this way, because mostly both ends of a connection begin at nearly
 * the same time. A process can reset its queue pairs, or create others, and so make first
 * attempts all the time. So the number of first attempts of a user on one link is limited, too.
 */
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "cm_direct_priv.h"
#include "dev.h"
#include "user.h"

/*
 * The average time between two attempts of a queue pair, in milliseconds, is this number
 * multiplied by the number of the user's queue pairs that wait on the link. So all these queue
 * pairs together make about 1000 attempts per second.
 */
#define IWT_DIRECT_PACE_MS	1
/* Number of attempts of a queue pair that are not slowed down, besides its first attempt. */
#define IWT_DIRECT_FREE_TRIES	6
/*
 * Number of attempts that the queue pairs of a user on one link can make together without being
 * slowed down, and milliseconds after which they can make one more such attempt.
 */
#define IWT_DIRECT_FREE		8000
#define IWT_DIRECT_FREE_MS	1

static DEFINE_MUTEX(pace_lock);

static unsigned long waiting(const struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	void *entry = xa_load(&d->dev->direct_waiting, d->user);

	return entry ? xa_to_value(entry) : 0;
}

/**
 * iwt_direct_pace_join() - count a queue pair that begins to wait
 * @d: direct connection, locked. From now on its queue pair counts for the user of the calling
 *	process (iwt_user_of_caller()).
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_direct_pace_join(struct iwt_direct_qp *d)
{
	int err;

	lockdep_assert_held(&d->lock);
	d->user = iwt_user_of_caller();
	mutex_lock(&pace_lock);
	err = xa_err(xa_store(&d->dev->direct_waiting, d->user, xa_mk_value(waiting(d) + 1),
			      GFP_KERNEL_ACCOUNT));
	mutex_unlock(&pace_lock);
	d->waits = !err;
	return err;
}

/**
 * iwt_direct_pace_leave() - do not count a queue pair any more, because its wait has ended
 * @d: direct connection, locked; nothing changes if its queue pair is not counted
 *
 * May sleep.
 */
void iwt_direct_pace_leave(struct iwt_direct_qp *d)
{
	struct xarray *xa = &d->dev->direct_waiting;
	unsigned long n;

	lockdep_assert_held(&d->lock);
	if (!d->waits)
		return;
	d->waits = false;
	mutex_lock(&pace_lock);
	n = waiting(d);
	if (n > 1)
		/* this call replaces an entry, so it allocates no memory */
		xa_store(xa, d->user, xa_mk_value(n - 1), GFP_KERNEL);
	else
		xa_erase(xa, d->user);
	mutex_unlock(&pace_lock);
}

/*
 * May the queue pair make another attempt that is not slowed down? If so, count the attempt for
 * its user. Users with the same hash value share the number of such attempts.
 */
static bool take_free(struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	u64 *used = &d->dev->direct_free_ms[hash_32(d->user, IWT_DIRECT_FREE_BITS)];
	u64 now = ktime_to_ms(ktime_get()), until;
	bool may;

	mutex_lock(&pace_lock);
	until = max(*used, now) + IWT_DIRECT_FREE_MS;
	may = until <= now + IWT_DIRECT_FREE * IWT_DIRECT_FREE_MS;
	if (may)
		*used = until;
	mutex_unlock(&pace_lock);
	return may;
}

/**
 * iwt_direct_pace_ms() - compute the usual time between two attempts of a queue pair
 * @d: direct connection, locked
 *
 * The result depends on the number of the queue pair, so that the attempts of many queue pairs do
 * not come at the same time. Process context, does not sleep.
 *
 * Return: milliseconds, from half to one and a half of the average time (IWT_DIRECT_PACE_MS).
 */
unsigned int iwt_direct_pace_ms(const struct iwt_direct_qp *d)
{
	unsigned int ms;

	lockdep_assert_held(&d->lock);
	ms = waiting(d) * IWT_DIRECT_PACE_MS;
	return ms / 2 + d->end.qpn % (ms + 1);
}

/**
 * iwt_direct_pace_next() - determine how long the next attempt of a queue pair has to wait
 * @d: direct connection, locked; the caller plans one attempt
 *
 * May sleep.
 *
 * Return: milliseconds; 0 for an attempt that is not slowed down.
 */
unsigned int iwt_direct_pace_next(struct iwt_direct_qp *d)
{
	lockdep_assert_held(&d->lock);
	if (d->tries <= IWT_DIRECT_FREE_TRIES && take_free(d))
		return 0;
	return iwt_direct_pace_ms(d);
}
