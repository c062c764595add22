// SPDX-License-Identifier: GPL-2.0
/* Creating and releasing a socket, and its callbacks. */
#include "sock.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#include <compat/task_frag.h>

#include "dawdle.h"
#include "sock_priv.h"

/* Workqueue that frees struct iwt_sock, and ends the connections of sockets of processes. */
static struct workqueue_struct *sock_wq;

/*
 * Return: the struct iwt_sock of @sk, or NULL if sk_user_data does not point to such an object. A
 * connection that was not accepted yet has inherited the callbacks of its listener, but the
 * connection's sk_user_data may belong to a sockmap, into which a BPF program can put the socket.
 * The pointer of a sockmap has a flag in its low bits that iwt_sock_hook() does not set.
 */
static struct iwt_sock *from_sk(struct sock *sk)
{
	uintptr_t data = (uintptr_t)rcu_dereference(__sk_user_data(sk));
	struct iwt_sock *s = (void *)(data & SK_USER_DATA_PTRMASK);

	if (data & ~SK_USER_DATA_PTRMASK & ~SK_USER_DATA_NOCOPY)
		return NULL;
	/* callbacks of a listener may be called without the lock of the listener */
	if (s && !s->listener)
		sock_owned_by_me(sk);
	return s;
}

/**
 * iwt_sock_ops_of() - find the present callbacks of a socket
 * @sk: TCP's socket
 * @s: set to the socket
 *
 * The caller holds the RCU read lock, and may read ->ctx afterwards: ->ctx belongs to the
 * returned callbacks. Any context in which TCP calls its callbacks.
 *
 * Return: the callbacks, or NULL.
 */
const struct iwt_sock_ops *iwt_sock_ops_of(struct sock *sk, struct iwt_sock **s)
{
	*s = from_sk(sk);
	/* pairs with the release in iwt_sock_set_ops() */
	return *s ? smp_load_acquire(&(*s)->ops) : NULL;
}

static void socket_data_ready(struct sock *sk)
{
	const struct iwt_sock_ops *ops;
	struct iwt_sock *s;

	rcu_read_lock();
	ops = iwt_sock_ops_of(sk, &s);
	if (ops && ops->data_ready)
		ops->data_ready(s, s->ctx);
	rcu_read_unlock();
}

/**
 * iwt_sock_write_space() - callback sk_write_space: call ops->write_space if there is room
 * @sk: TCP's socket
 *
 * Softirq, the backlog, or a system call of a process on its socket, for example setsockopt(2).
 */
void iwt_sock_write_space(struct sock *sk)
{
	const struct iwt_sock_ops *ops;
	struct iwt_sock *s;

	if (!iwt_sock_has_room(sk))
		return;
	rcu_read_lock();
	if (sk->sk_socket)
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	ops = iwt_sock_ops_of(sk, &s);
	if (ops && ops->write_space)
		ops->write_space(s, s->ctx);
	rcu_read_unlock();
}

static void socket_state_change(struct sock *sk)
{
	const struct iwt_sock_ops *ops;
	struct iwt_sock *s;

	rcu_read_lock();
	ops = iwt_sock_ops_of(sk, &s);
	if (ops && ops->state_change)
		ops->state_change(s, s->ctx);
	rcu_read_unlock();
}

/* Free the object. Only runs of the engines may still use the object: wait for their end. */
static void do_end_work(struct work_struct *work)
{
	struct iwt_sock *s = container_of(to_rcu_work(work), struct iwt_sock,
					  end_work);

	iwt_sock_run_end(s);
	sock_put(s->sk);
	iwt_sock_put_cgroup(s->was_cgroup);
	iwt_sock_free_aside(s);
	kfree(s);
}

/* Prepare a socket for engines that call TCP in softirq: TCP must not sleep, nor use current. */
static void prepare(struct sock *sk)
{
	/*
	 * sock_set_flag() is not atomic: without the lock, TCP could change another flag of an
	 * accepted socket at the same time, and one of the two changes would be lost
	 */
	lock_sock(sk);
	sk->sk_allocation = GFP_ATOMIC;
	compat_sock_no_task_frag(sk);
	sock_set_flag(sk, SOCK_URGINLINE);
	release_sock(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_nodelay(sk);
}

static void widen_window(struct socket *sock)
{
	lock_sock(sock->sk);
	iwt_sock_widen(sock);
	release_sock(sock->sk);
}

/**
 * iwt_sock_hook() - install the callbacks
 * @s: socket, locked
 *
 * This function does not replace sk_error_report: TCP also calls sk_error_report, without the
 * lock or while TCP sends, to report timestamps and the end of a process's zero copy. An error
 * that ends a connection also changes the socket's state, so sk_state_change is sufficient.
 *
 * Return: 0, or -EBUSY if another subsystem uses sk_user_data; then nothing has changed.
 */
int iwt_sock_hook(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	sock_owned_by_me(s->sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data) {
		write_unlock_bh(&sk->sk_callback_lock);
		return -EBUSY;
	}
	s->saved.data_ready = sk->sk_data_ready;
	s->saved.write_space = sk->sk_write_space;
	s->saved.state_change = sk->sk_state_change;
	s->saved.error_report = sk->sk_error_report;
	iwt_sock_save_limits(s);
	sk->sk_data_ready = socket_data_ready;
	sk->sk_write_space = iwt_sock_write_space;
	sk->sk_state_change = socket_state_change;
	/* a child of a listener must not inherit the pointer */
	__rcu_assign_sk_user_data_with_flags(sk, s, s->listener || s->user ?
					     SK_USER_DATA_NOCOPY : 0);
	write_unlock_bh(&sk->sk_callback_lock);
	/* take_locked() sets the ULP of a process's socket later; a listener has no ULP */
	if (!s->listener && !s->user)
		iwt_sock_set_ulp(sk, false);
	return 0;
}

/**
 * iwt_sock_new() - allocate the struct iwt_sock of a socket; the socket is not changed
 * @sock: kernel socket
 * @ops: callbacks
 * @ctx: argument of the callbacks
 *
 * May sleep.
 *
 * Return: the object, or NULL if memory is missing.
 */
struct iwt_sock *iwt_sock_new(struct socket *sock,
			      const struct iwt_sock_ops *ops, void *ctx)
{
	struct iwt_sock *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->sock = sock;
	s->sk = sock->sk;
	s->ops = ops;
	s->ctx = ctx;
	iwt_sock_run_setup(s);
	INIT_RCU_WORK(&s->end_work, do_end_work);
	sock_hold(s->sk);
	return s;
}

/*
 * Allocate the object of a socket and install the callbacks. Return: 0, -ENOMEM, or -EBUSY if
 * another subsystem uses sk_user_data.
 */
static int wrap(struct socket *sock, const struct iwt_sock_ops *ops, void *ctx,
		bool listener, struct iwt_sock **out)
{
	struct iwt_sock *s = iwt_sock_new(sock, ops, ctx);
	int err;

	if (!s)
		return -ENOMEM;
	s->listener = listener;
	iwt_sock_own(s);
	err = iwt_sock_hook(s);
	if (!err)
		iwt_sock_set_class(s->sk);
	iwt_sock_disown(s);
	if (err)
		iwt_sock_free_later(s);
	else
		*out = s;
	return err;
}

/* Set the type of service, except for the ECN bits, which belong to TCP. */
static void set_tos(struct sock *sk, u8 tos)
{
	if (sk->sk_family == AF_INET) {
		ip_sock_set_tos(sk, tos);
		return;
	}
	lock_sock(sk);
	inet6_sk(sk)->tclass = (tos & ~INET_ECN_MASK) |
			       (inet6_sk(sk)->tclass & INET_ECN_MASK);
	release_sock(sk);
}

static int make_socket(struct net *net, const struct iwt_sock_addr *addr,
		       struct socket **out)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(net, addr->local.ss_family, SOCK_STREAM,
			       IPPROTO_TCP, &sock);
	if (err)
		return err;
	iwt_sock_init_class(sock->sk);
	/* the socket keeps its namespace alive until TCP has ended the connection */
	sk_net_refcnt_upgrade(sock->sk);
	prepare(sock->sk);
	sock_set_reuseaddr(sock->sk);
	if (addr->tos_set)
		set_tos(sock->sk, addr->tos);
	if (addr->v6only)
		err = ip6_sock_set_v6only(sock->sk);
	if (!err && addr->ifindex)
		err = sock_bindtoindex(sock->sk, addr->ifindex, true);
	if (err) {
		sock_release(sock);
		return err;
	}
	*out = sock;
	return 0;
}

/* Release a socket that is not in use yet. @s: the struct iwt_sock of @sock, or NULL. */
static void drop(struct socket *sock, struct iwt_sock *s)
{
	if (s)
		iwt_sock_release(s, true);
	else
		sock_release(sock);
}

/**
 * iwt_sock_connect() - start a connection, without waiting for it
 * @net: network namespace
 * @addr: addresses of both ends, and how the local port is chosen
 * @ops: callbacks; state_change is called when the connection is open or has failed
 * @ctx: argument of the callbacks
 * @out: receives the socket
 *
 * The local port may have connections to other destinations, and connections in the state
 * TIME_WAIT, as for a program that sets SO_REUSEADDR. Process context, may sleep for memory.
 *
 * Return: 0 if the connection was started; -EADDRINUSE if a listener or a socket without
 * SO_REUSEADDR has the port; -EADDRNOTAVAIL if there already is a connection between these
 * addresses and ports, or if TCP finds no free port (with @addr->late); or another error of
 * iwt_sock_bind() or connect(2).
 */
int iwt_sock_connect(struct net *net, const struct iwt_sock_addr *addr,
		     const struct iwt_sock_ops *ops, void *ctx,
		     struct iwt_sock **out)
{
	struct sockaddr_storage remote = addr->remote;
	struct iwt_sock *s = NULL;
	struct cgroup *was = NULL;
	struct socket *sock;
	int err;

	err = make_socket(net, addr, &sock);
	if (err)
		return err;
	if (addr->owner)
		iwt_sock_hand_over(sock->sk, addr->owner, &was);
	iwt_sock_put_cgroup(was);
	err = iwt_sock_bind(sock, addr);
	if (err)
		goto fail;
	err = wrap(sock, ops, ctx, false, &s);
	if (err)
		goto fail;
	widen_window(sock);
	*out = s;
	err = kernel_connect(sock, (struct sockaddr_unsized *)&remote,
			     iwt_sock_addr_len(&remote), O_NONBLOCK);
	if (!err || err == -EINPROGRESS)
		return 0;
	*out = NULL;
fail:
	drop(sock, s);
	return err;
}

/**
 * iwt_sock_listen() - listen on an address
 * @net: network namespace
 * @addr: local address and options
 * @backlog: maximum number of connections that wait for iwt_sock_accept()
 * @ops: callbacks; data_ready is called when a connection arrives
 * @ctx: argument of the callbacks
 * @out: receives the socket
 *
 * A callback may be called before this function returns. Process context, may sleep.
 *
 * Return: 0, -ENOMEM, or an error of bind(2) or listen(2).
 */
int iwt_sock_listen(struct net *net, const struct iwt_sock_addr *addr,
		    int backlog, const struct iwt_sock_ops *ops, void *ctx,
		    struct iwt_sock **out)
{
	struct iwt_sock *s = NULL;
	struct socket *sock;
	int err;

	err = make_socket(net, addr, &sock);
	if (err)
		return err;
	widen_window(sock);
	err = iwt_sock_bind(sock, addr);
	if (err)
		goto err_drop;
	err = wrap(sock, ops, ctx, true, &s);
	if (err)
		goto err_drop;
	*out = s;
	err = kernel_listen(sock, backlog);
	if (err)
		goto err_out;
	return 0;

err_out:
	*out = NULL;
err_drop:
	drop(sock, s);
	return err;
}

/**
 * iwt_sock_accept() - accept a connection that is ready
 * @listener: listening socket
 * @ops: callbacks of the new socket
 * @ctx: argument of the callbacks
 * @out: receives the socket
 *
 * No callback is called for data that arrived before the callbacks were installed: the caller has
 * to check for data. Process context, may sleep, but does not wait for a connection.
 *
 * Return: 0; -EAGAIN if no connection is ready; -ECONNABORTED if another subsystem uses the
 * sk_user_data of the new socket: then the new connection is reset; or another -errno.
 */
int iwt_sock_accept(struct iwt_sock *listener, const struct iwt_sock_ops *ops,
		    void *ctx, struct iwt_sock **out)
{
	struct socket *sock;
	struct iwt_sock *s;
	int err;

	err = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (err)
		return err;
	prepare(sock->sk);
	widen_window(sock);
	err = wrap(sock, ops, ctx, false, &s);
	if (err) {
		sock_no_linger(sock->sk);
		sock_release(sock);
		return err == -EBUSY ? -ECONNABORTED : err;
	}
	/*
	 * The new socket had the listener's callbacks, and wrap() saved these. Replace them by
	 * TCP's own callbacks, which the listener has saved.
	 */
	s->saved = listener->saved;
	*out = s;
	return 0;
}

/**
 * iwt_sock_set_ops() - change the callbacks
 * @s: socket that does not listen; the caller does not hold its lock
 * @ops: callbacks, or NULL
 * @ctx: argument of the callbacks
 *
 * When this function returns, no former callback is running, and none will run. May sleep.
 */
void iwt_sock_set_ops(struct iwt_sock *s, const struct iwt_sock_ops *ops,
		      void *ctx)
{
	bool owned;

	if (!s->user)
		iwt_sock_own(s);
	spin_lock_bh(&s->sk->sk_lock.slock);
	owned = s->user && sock_owned_by_user(s->sk);
	if (owned) {
		/*
		 * The task that owns the socket may be running a callback, without the spinlock.
		 * Wait for the end of this callback, so that no callback combines the old ops
		 * with the new ctx. Do not wait until the task releases the socket: the task may
		 * stay in its system call forever.
		 */
		WRITE_ONCE(s->ops, NULL);
		spin_unlock_bh(&s->sk->sk_lock.slock);
		synchronize_rcu();
		spin_lock_bh(&s->sk->sk_lock.slock);
	}
	s->ctx = ctx;
	smp_store_release(&s->ops, ops); /* pairs with iwt_sock_ops_of() */
	s->readable = tcp_sk(s->sk)->copied_seq;
	iwt_sock_await(s, 1);
	spin_unlock_bh(&s->sk->sk_lock.slock);
	if (!s->user)
		iwt_sock_disown(s);
}

/**
 * iwt_sock_set_tos() - set the type of service of the segments that follow
 * @s: socket created by this module, not by a process
 * @tos: as in the IP header; the lowest two bits are ignored
 *
 * May sleep.
 */
void iwt_sock_set_tos(struct iwt_sock *s, u8 tos)
{
	set_tos(s->sk, tos);
}

/**
 * iwt_sock_shutdown() - end the sending direction: queue a FIN after the data
 * @s: connected socket
 *
 * From then on TCP probes the peer each second (iwt_sock_ask()). If a system call does not
 * release the socket of a process in time, no FIN is queued. May sleep.
 */
void iwt_sock_shutdown(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	WRITE_ONCE(s->shut, true);
	/* if no FIN is queued, the endpoint's deadline ends the connection */
	if (iwt_sock_own_soon(s))
		return;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	iwt_sock_ask(sk);
	sk->sk_state_change(sk);
	iwt_sock_disown(s);
}

/**
 * iwt_sock_unhook() - restore the socket's own callbacks
 * @s: socket, locked
 */
void iwt_sock_unhook(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	sock_owned_by_me(s->sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = s->saved.data_ready;
	sk->sk_write_space = s->saved.write_space;
	sk->sk_state_change = s->saved.state_change;
	sk->sk_error_report = s->saved.error_report;
	iwt_sock_drop_limits(s);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	if (!s->user)
		iwt_sock_drop_ulp(sk);
}

/**
 * iwt_sock_free_later() - free the struct iwt_sock after an RCU grace period
 * @s: object; its callbacks were never installed, or are not installed any more
 *
 * Any context.
 */
void iwt_sock_free_later(struct iwt_sock *s)
{
	queue_rcu_work(sock_wq, &s->end_work);
}

/**
 * iwt_sock_end_later() - retry later to end the connection of a process's socket
 * @s: socket that a system call of a process still owns
 * @delay: jiffies until the retry
 *
 * Any context.
 */
void iwt_sock_end_later(struct iwt_sock *s, unsigned long delay)
{
	queue_delayed_work(sock_wq, &s->user_work, delay);
}

/**
 * iwt_sock_release() - close and release the socket
 * @s: socket
 * @abort: reset the connection instead of closing it gracefully
 *
 * No callback runs afterwards, except the callbacks of a listener: the argument of a listener's
 * callbacks must stay valid for an RCU grace period. Another thread that found @s under RCU may
 * still call iwt_sock_run(), so @s is freed after a grace period. This function does not wait for
 * the grace period. May sleep.
 */
void iwt_sock_release(struct iwt_sock *s, bool abort)
{
	if (s->release) {
		s->release(s, abort);
		return;
	}
	iwt_sock_own(s);
	iwt_sock_unhook(s);
	iwt_sock_drop_class(s->sk);
	iwt_sock_disown(s);
	iwt_doze();
	/* a listener's callback may be running without the lock, so keep the listener's ops */
	if (!s->listener)
		iwt_sock_set_ops(s, NULL, NULL);
	tcp_sock_set_user_timeout(s->sk, IWT_SOCK_ORPHAN_MS);
	if (abort)
		sock_no_linger(s->sk);
	sock_release(s->sock);
	iwt_sock_free_later(s);
}

/**
 * iwt_sock_init() - create the workqueues at module load; may sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_sock_init(void)
{
	int err = iwt_sock_run_init();

	if (err)
		return err;
	sock_wq = alloc_workqueue("iw_tcp_sock",
				  WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (sock_wq)
		return 0;
	iwt_sock_run_exit();
	return -ENOMEM;
}

/**
 * iwt_sock_exit() - free the last objects at module unload; sleeps
 *
 * The caller has released every socket.
 */
void iwt_sock_exit(void)
{
	/* the work item that dropped the last reference to the module may still be running */
	flush_workqueue(sock_wq);
	/* an end_work that waits for a grace period is not queued yet: wait until it is queued */
	rcu_barrier();
	iwt_sock_ulp_exit();
	destroy_workqueue(sock_wq);
	iwt_sock_run_exit();
}
