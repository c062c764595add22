/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Direct connections, for processes that do not use rdma_cm. Only cm_direct*.c use this header.
 *
 *	cm_direct.c		requests of a process: modify, query, destroy
 *	cm_direct_conn.c	attempts to connect, and Requests of peers
 *	cm_direct_port.c	references and listeners
 *	cm_direct_pace.c	how often queue pairs try to connect
 */
#ifndef IWT_CM_DIRECT_PRIV_H
#define IWT_CM_DIRECT_PRIV_H

#include "cm_ep.h"
#include "proto/direct.h"

struct iwt_direct_port;

/**
 * struct iwt_direct_qp - a queue pair that connects, or has connected, directly
 * @common: the part that the endpoints of the queue pair use
 * @ref: references: of the queue pair and of its endpoints
 * @lock: guards the members marked __guarded_by(&lock). The other members below do not change
 *	after iwt_direct_modify() has set them, except @work
 * @qp: queue pair; valid until @ended is set
 * @dev: device
 * @attr: attributes, as the process has set them
 * @end: the connection, as seen from this end
 * @local: address of this end
 * @remote: address of the peer, with port
 * @role: does this end send the Request?
 * @port: listener, while a responder waits for a Request; otherwise NULL
 * @work: makes the next attempt, and checks whether requests have waited too long
 * @rtr_at: time of the change to RTR, in jiffies
 * @next_try: time of the next attempt, in jiffies
 * @pause: milliseconds from the end of an attempt to the next attempt; iwt_direct_pace_next()
 *	may require a longer pause
 * @user: uid of the user for which the queue pair is counted (cm_direct_pace.c)
 * @waits: the queue pair is counted
 * @tries: number of attempts
 * @posted: the last check has found requests that wait for the connection
 * @since: if @posted: time of the first check that found waiting requests, in jiffies
 * @trying: an attempt is in progress
 * @connected: a connection was established: no further attempt
 * @ended: no attempt is made any more
 */
struct iwt_direct_qp {
	struct iwt_direct common;
	struct kref ref;
	struct mutex lock;
	struct iwt_qp *qp __guarded_by(&lock);
	struct iwt_dev *dev;
	struct ib_qp_attr attr __guarded_by(&lock);
	struct iwt_direct_end end __guarded_by(&lock);
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	enum iwt_direct_role role;
	struct iwt_direct_port *port __guarded_by(&lock);
	struct delayed_work work;
	unsigned long rtr_at;
	unsigned long next_try __guarded_by(&lock);
	unsigned int pause __guarded_by(&lock);
	uid_t user __guarded_by(&lock);
	bool waits __guarded_by(&lock);
	u32 tries __guarded_by(&lock);
	bool posted __guarded_by(&lock);
	unsigned long since __guarded_by(&lock);
	bool trying __guarded_by(&lock);
	bool connected __guarded_by(&lock);
	bool ended __guarded_by(&lock);
};

/* cm_direct_conn.c */
extern struct workqueue_struct *iwt_direct_wq;
extern const struct iwt_direct_ops iwt_direct_events;
void iwt_direct_work(struct work_struct *work);
void iwt_direct_check_later(struct iwt_direct_qp *d)
	__must_hold(&d->lock);

/* cm_direct_port.c */
void iwt_direct_put(struct iwt_direct_qp *d);
struct iwt_direct_qp *iwt_direct_of(struct iwt_qp *qp);
struct net *iwt_direct_net(const struct iwt_dev *dev);
struct iwt_direct_port *iwt_direct_join(struct iwt_dev *dev,
					const struct sockaddr_storage *local,
					const struct iwt_direct_ops *ops);
void iwt_direct_leave(struct iwt_direct_port *p);

/* cm_direct_pace.c */
int iwt_direct_pace_join(struct iwt_direct_qp *d)
	__must_hold(&d->lock);
void iwt_direct_pace_leave(struct iwt_direct_qp *d)
	__must_hold(&d->lock);
unsigned int iwt_direct_pace_ms(const struct iwt_direct_qp *d)
	__must_hold(&d->lock);
unsigned int iwt_direct_pace_next(struct iwt_direct_qp *d)
	__must_hold(&d->lock);

/*
 * The queue pair of @d does not wait for a Request any more. Return: the listener, which the
 * caller has to pass to iwt_direct_leave(); or NULL.
 */
static inline struct iwt_direct_port *iwt_direct_take_port(struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	struct iwt_direct_port *p = d->port;

	d->port = NULL;
	return p;
}

#endif
