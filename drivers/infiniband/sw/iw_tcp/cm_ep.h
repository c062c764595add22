/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An MPA endpoint: a connection as the connection manager sees it. Only cm*.c use this header.
 *
 *	cm.c		operations of iw_cm
 *	cm_listen.c	listeners, and their sockets
 *	cm_delayed.c	delayed startup on a socket that a process created
 *	cm_direct*.c	direct connections, without rdma_cm (cm_direct_priv.h)
 *	cm_work.c	the work of an endpoint
 *	cm_mpa.c	startup frames
 *	cm_upcall.c	events for iw_cm
 *	cm_dial.c	an initiator's TCP connection
 *	cm_ep.c		endpoints: lookup, state changes
 *	cm_addr.c	addresses, and the devices that serve them
 *	cm_caller.c	the caller of an operation
 *
 * Each endpoint has one work item, which handles the events of the connection one after the
 * other. Callbacks of the socket and of the queue pair only set a bit and queue the work. The
 * work reads the bits, and executes the steps that proto/cmfsm.c prescribes. Then the work
 * reports events to iw_cm; the work holds no lock while it reports events. The work never waits
 * for the network, so no connection waits for the peer of another connection.
 *
 * Locking
 *
 *   lock            guards                           taken in
 *   --------------  -------------------------------  --------------------------
 *   iwt_ports_lock  the table of listening sockets   process context
 *   port->lock      socket and listeners of a port   process context, inside
 *                                                    iwt_ports_lock
 *   ep->lock        every field of struct iwt_ep     process context, inside
 *                   that no other line names         port->lock and the lock of
 *                                                    a direct connection; the
 *                                                    socket lock and the lock of
 *                                                    the queue pair nest inside
 *   listen->lock    half-open endpoints, @dead and   BH off, inside ep->lock
 *                   @reporting of a listener
 *   xa_lock of the  the table of endpoints,          process context, inside all
 *   endpoint table  qp->eps, ep->of_qp               others
 *   (atomic)        ep->bits                         any context
 *
 * References: an endpoint is created with one reference, which the last work of the endpoint
 * drops after the endpoint has become CLOSED. A queued work, each pending timer and a lookup hold
 * one reference each. An endpoint that is not CLOSED owns its socket. An endpoint holds a
 * reference to its queue pair from connect or accept until the endpoint drops the queue pair, and
 * a reference to the iw_cm_id from connect or accept until the last event has been delivered. An
 * endpoint of delayed startup has no iw_cm_id, so its events are not reported. An endpoint of a
 * direct connection has a struct iwt_direct instead, and calls the functions of struct
 * iwt_direct_ops.
 *
 * The provider_data of a CONNECT_REQUEST event is the number of the endpoint (ep->id), not a
 * pointer to the endpoint: iw_cm may forget a Request without notifying the driver. So the
 * endpoint must be able to end while iw_cm still stores the provider_data.
 */
#ifndef IWT_CM_EP_H
#define IWT_CM_EP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/workqueue.h>

#include "proto/cmfsm.h"
#include "proto/direct.h"
#include "proto/mpa.h"
#include "qp.h"
#include "sock.h"

struct iw_cm_event;
struct iw_cm_id;
struct iwt_dev;
struct iwt_port;
struct net;
struct net_device;

/*
 * Maximum durations of states, in milliseconds (state_ms()). Arriving data do not extend the
 * deadline of a state (RFC 5044 7.1.2 r10). The deadline for the Reply includes the time that the
 * peer's ULP needs to decide. The deadline for closing begins when FIN or a Terminate is queued
 * after the data. This deadline is extended by IWT_CM_CLOSE_MS if the peer has acknowledged data,
 * or if the peer does not answer (waits_on()), but at most IWT_CM_CLOSE_EXTENSIONS times.
 * IWT_CM_ORPHAN_MS is the deadline for the ULP's answer to a Request, if the listener has ended.
 *
 * These times let a connection survive a path failure of ten seconds. TCP doubles its
 * retransmission timeout, so TCP may need twice as long to notice that the path works again; TCP
 * repeats its SYN after 1, 3, 7 and 15 seconds.
 */
#define IWT_CM_CONNECT_MS	20000
#define IWT_CM_REPLY_MS		22000
#define IWT_CM_REQUEST_MS	22000
#define IWT_CM_CLOSE_MS		5000
#define IWT_CM_CLOSE_EXTENSIONS	11
#define IWT_CM_ORPHAN_MS	60000

/*
 * If the backlog of a listener is full, iw_cm refuses the report of a Request. The driver then
 * reports the Request again after IWT_CM_REPORT_MS, at most IWT_CM_REPORT_TRIES times.
 */
#define IWT_CM_REPORT_MS	20
#define IWT_CM_REPORT_TRIES	500

/*
 * Maximum number of endpoints of a link that are in the state LINGER. A process can end one
 * connection after the other with the same queue pair, and if the peers are silent, each endpoint
 * stays for a minute. Beyond the limit, the driver closes the socket at once: TCP still sends the
 * data and FIN, but resets the connection if the peer sends more data.
 */
#define IWT_CM_LINGER_MAX	1024

/*
 * Milliseconds until the work looks at the socket of a process again, if a system call owned the
 * socket.
 */
#define IWT_CM_BUSY_MS		100

/* Maximum private data in bytes that iw_cm can deliver: iw_cm_event.private_data_len is a u8. */
#define IWT_CM_PD_MAX		255

/* Events that the work has to handle; bit numbers in ep->bits. */
enum iwt_ep_bit {
	IWT_EP_SOCK,		/* event of the socket, during startup and in LINGER */
	/*
	 * The work handles the following events in this order. The queue pair reports the events
	 * up to IWT_EP_ABORT_WANTED (enum iwt_llp_event).
	 */
	IWT_EP_DRAINING,
	IWT_EP_TERM_PENDING,
	IWT_EP_TERM_SENT,
	IWT_EP_CLOSE_WANTED,
	IWT_EP_TERM_RECEIVED,
	IWT_EP_PEER_CLOSED,
	IWT_EP_LOST,
	IWT_EP_ABORT_WANTED,	/* also set if the queue pair is being destroyed */
	IWT_EP_ORPHANED,	/* the listener has ended */
	IWT_EP_KILLED,		/* reset the connection, for example to evict the endpoint */
	IWT_EP_EXPIRED,		/* ep->timer has run */
};

struct iwt_ep;
struct iwt_direct;

/**
 * struct iwt_direct_ops - functions by which an endpoint reports to a direct connection
 * @request: a Request has arrived; the function accepts or refuses the Request
 * @reply: the startup of an initiator has ended, with status 0 or -errno
 * @put: drop a reference; any context
 *
 * The work of the endpoint calls @request and @reply, without a lock.
 */
struct iwt_direct_ops {
	void (*request)(struct iwt_ep *ep);
	void (*reply)(struct iwt_ep *ep, int status);
	void (*put)(struct iwt_direct *direct);
};

/* The part of a direct connection (struct iwt_direct_qp) that its endpoints use. */
struct iwt_direct {
	const struct iwt_direct_ops *ops;
};

/**
 * struct iwt_listen - a listener on one device; listeners may share a listening socket
 * @ref: references: one until iwt_cm_destroy_listen() or iwt_listen_close(), and one for each
 *	endpoint that was not accepted and has not ended
 * @node: entry in @port's list
 * @port: the listening socket, NULL while the listener waits for its address and port
 * @addr: address to listen on
 * @net: namespace; the rdma_cm_id of the listener or, for direct connections, the listening
 *	socket keeps the namespace alive
 * @retry: retries to bind the address and port
 * @dev: device
 * @cm_id: iw_cm_id of the listener, with a reference until iwt_cm_destroy_listen(); NULL for
 *	direct connections
 * @direct: receives the Requests for direct connections, or NULL
 * @limit: maximum number of half-open endpoints
 * @lock: guards the members marked __guarded_by(&lock)
 * @dead: no Request is reported to iw_cm any more
 * @reporting: number of reports to iw_cm in progress
 * @idle: completed when @dead is set and the last report has ended
 * @half_open: half-open endpoints, oldest first
 * @half_opens: number of half-open endpoints
 */
struct iwt_listen {
	struct kref ref;
	struct list_head node;
	struct iwt_port *port;
	struct iwt_sock_addr addr;
	struct net *net;
	struct delayed_work retry;
	struct iwt_dev *dev;
	struct iw_cm_id *cm_id;
	const struct iwt_direct_ops *direct;
	unsigned int limit;

	spinlock_t lock;
	bool dead __guarded_by(&lock);
	unsigned int reporting __guarded_by(&lock);
	struct completion idle;
	struct list_head half_open __guarded_by(&lock);
	unsigned int half_opens __guarded_by(&lock);
};

/**
 * struct iwt_ep - endpoint
 * @ref: references, see the top of this file
 * @lock: see the table at the top of this file
 * @state: state, changed by iwt_ep_step() and iwt_ep_abandon() only
 * @initiator: this end is the initiator, which sends the Request
 * @finished: the last work has begun
 * @id: number that accept and reject use to find the endpoint; 0: none yet
 * @nr: number that identifies the endpoint in tracepoints
 * @bits: events to handle (enum iwt_ep_bit)
 * @wq: runs @work, @timer and @again
 * @work: handles @bits
 * @timer: sets IWT_EP_EXPIRED
 * @again: sets IWT_EP_SOCK (cm_mpa.c: look_again())
 * @armed: @deadline is valid
 * @deadline: when the present state ends, in jiffies
 * @acked: sequence number that the peer had acknowledged when @deadline was set
 * @patient: the close waits for work requests: the deadline is set by the link's user_timeout,
 *	and is not extended
 * @silent: the peer did not answer when @deadline was last extended
 * @extensions: how often @deadline was extended, at most IWT_CM_CLOSE_EXTENSIONS times
 * @dev: device; NULL until a new inbound connection is assigned to a device
 * @sock: socket; NULL when CLOSED
 * @qp: queue pair, or NULL
 * @of_qp: entry in @qp->eps
 * @attached: @qp has been attached to @sock
 * @cm_id: iw_cm_id, or NULL; for an inbound connection, iwt_cm_accept() sets it
 * @direct: direct connection, with a reference, or NULL
 * @own: with @direct: the connection, as seen from this end
 * @min_rnr_timer: with @direct: attribute of the queue pair
 * @listen: listener of an inbound connection, until the endpoint is accepted or ends
 * @half_open: entry in @listen->half_open until iw_cm or a direct connection has the Request, and
 *	again in the state LINGER
 * @report_tries: how often iw_cm has refused the report of the Request
 * @upcalls: IWT_CMA_UP_* bits to be delivered
 * @reply_status: status of CONNECT_REPLY
 * @close_status: status of CLOSE
 * @wish: parameters that this end requests: from the link's settings when the endpoint began, and
 *	from the ULP
 * @req: contents of the Request, which this end has sent or received
 * @rep: contents of the peer's Reply
 * @terms: negotiated parameters
 * @local: address of this end
 * @remote: address of the peer
 * @len: number of bytes of @frame that are to be sent or were received
 * @frame: startup frame: the initiator's Request until the first byte of the Reply arrives; then
 *	the frame that this end receives; NULL after startup
 */
struct iwt_ep {
	struct kref ref;
	struct mutex lock;	/* see the table at the top of this file */
	enum iwt_cm_state state __guarded_by(&lock);
	bool initiator __guarded_by(&lock);
	bool finished __guarded_by(&lock);
	u32 id;
	u32 nr;
	unsigned long bits;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct delayed_work timer;
	struct delayed_work again;
	bool armed __guarded_by(&lock);
	unsigned long deadline __guarded_by(&lock);
	u32 acked __guarded_by(&lock);
	bool patient __guarded_by(&lock);
	bool silent __guarded_by(&lock);
	u32 extensions __guarded_by(&lock);

	struct iwt_dev *dev;
	struct iwt_sock *sock __guarded_by(&lock);
	struct iwt_qp *qp __guarded_by(&lock);
	struct hlist_node of_qp;
	bool attached __guarded_by(&lock);
	struct iw_cm_id *cm_id;
	struct iwt_direct *direct;
	struct iwt_direct_end own __guarded_by(&lock);
	u8 min_rnr_timer __guarded_by(&lock);
	struct iwt_listen *listen;
	struct list_head half_open;

	u32 report_tries;
	u32 upcalls __guarded_by(&lock);
	int reply_status;
	int close_status;

	struct iwt_mpa_wish wish __guarded_by(&lock);
	struct iwt_mpa_frame req;
	struct iwt_mpa_frame rep;
	struct iwt_mpa_terms terms;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 len __guarded_by(&lock);
	u8 *frame;
};

/* cm_ep.c */
extern const struct iwt_sock_ops iwt_ep_sock_ops;
extern const struct iwt_qp_llp_ops iwt_ep_llp_ops;

int iwt_ep_publish(struct iwt_ep *ep, struct iwt_dev *dev);
struct iwt_ep *iwt_ep_find(u32 id);
void iwt_ep_get(struct iwt_ep *ep);
void iwt_ep_put(struct iwt_ep *ep);
void iwt_ep_raise(struct iwt_ep *ep, enum iwt_ep_bit bit);
void iwt_ep_step(struct iwt_ep *ep, enum iwt_cm_event event, int status)
	__must_hold(&ep->lock);
void iwt_ep_arm(struct iwt_ep *ep, unsigned int ms)
	__must_hold(&ep->lock);
int iwt_ep_take_qp(struct iwt_ep *ep, struct iwt_qp *qp)
	__must_hold(&ep->lock);
int iwt_ep_only_direct(struct iwt_qp *qp)
	__must_hold(&qp->modifying);
/* Return: true if the connection must be reset, not closed by a FIN. */
bool iwt_ep_let_go_qp(struct iwt_ep *ep)
	__must_hold(&ep->lock);
void iwt_ep_abandon(struct iwt_ep *ep)
	__must_hold(&ep->lock);
void iwt_ep_finish(struct iwt_ep *ep);
void iwt_ep_orphan(const struct iwt_listen *listen);
void iwt_ep_abort_qp(struct iwt_qp *qp);
void iwt_ep_end_qp(struct iwt_qp *qp);
void iwt_ep_drain_dev(struct iwt_dev *dev);
void iwt_ep_wait_all(void);
void iwt_ep_leave_listen(struct iwt_ep *ep);
void iwt_listen_put(struct iwt_listen *l);
void iwt_half_open_add(struct iwt_ep *ep)
	__must_hold(&ep->lock);
void iwt_half_open_del(struct iwt_ep *ep)
	__must_hold(&ep->lock);

/* cm_work.c */
extern struct workqueue_struct *iwt_cm_wq;

struct iwt_ep *iwt_ep_alloc(enum iwt_cm_state state);

/* cm_dial.c */
void iwt_ep_read_addrs(struct iwt_ep *ep)
	__must_hold(&ep->lock);
int iwt_ep_dial(struct iwt_ep *ep, struct iw_cm_id *id)
	__must_hold(&ep->lock);
int iwt_ep_dial_to(struct iwt_ep *ep, struct net *net, struct iwt_sock_addr *addr)
	__must_hold(&ep->lock);

/* cm_listen.c */
int iwt_listen_open(struct iwt_dev *dev, struct net *net, const struct iwt_sock_addr *addr,
		    unsigned int limit, const struct iwt_direct_ops *ops,
		    struct iwt_listen **out);
void iwt_listen_close(struct iwt_listen *l);

/* cm_addr.c */
void iwt_addr_unmap(struct sockaddr_storage *a);
/* Does rdma_cm listen on all devices for the address @a? */
bool iwt_addr_on_all(const struct sockaddr_storage *a);
int iwt_addr_of_listen(const struct iw_cm_id *id, struct iwt_sock_addr *addr);
int iwt_addr_ifindex(const struct iwt_dev *dev, const struct sockaddr_storage *local,
		     const struct sockaddr_storage *peer);
/* Do two listeners need the same socket? */
bool iwt_addr_same(const struct iwt_sock_addr *a, const struct iwt_sock_addr *b);
struct net_device *iwt_addr_owner(struct net *net,
				  const struct sockaddr_storage *a);
/* Does the RDMA device on @nd serve the addresses of @owner? */
bool iwt_addr_served(struct net_device *nd, struct net_device *owner);
/* Does @dev serve the local address @local of a connection? */
bool iwt_addr_of_dev(const struct iwt_dev *dev,
		     const struct sockaddr_storage *local);

/* cm_caller.c */
struct net *iwt_caller_net(struct iw_cm_id *id);
struct iwt_qp *iwt_caller_qp(struct iw_cm_id *id, u32 qpn);

/* cm_mpa.c */
void iwt_ep_load_settings(struct iwt_ep *ep)
	__must_hold(&ep->lock);
void iwt_ep_wish_depths(struct iwt_ep *ep, u32 ird, u32 ord)
	__must_hold(&ep->lock);
void iwt_ep_look(struct iwt_ep *ep)
	__must_hold(&ep->lock);
int iwt_ep_early(struct iwt_ep *ep)
	__must_hold(&ep->lock);
int iwt_ep_build_request(struct iwt_ep *ep, const void *pd, u16 pd_len)
	__must_hold(&ep->lock);
/* Return: false if the peer has sent bytes after the Request. */
bool iwt_ep_set_owner(struct iwt_ep *ep)
	__must_hold(&ep->lock);
int iwt_ep_attach_responder(struct iwt_ep *ep, struct iwt_mpa_frame *rep)
	__must_hold(&ep->lock);
int iwt_ep_accept_reply(struct iwt_ep *ep, struct iwt_mpa_frame *rep,
			const void *pd, u16 pd_len)
	__must_hold(&ep->lock);
int iwt_ep_refuse(struct iwt_ep *ep, const void *pd, u16 pd_len)
	__must_hold(&ep->lock);

/* cm_upcall.c: called without ep->lock */
void iwt_ep_deliver(struct iwt_ep *ep, u32 ups);
void iwt_listen_end_reports(struct iwt_listen *l);

#endif
