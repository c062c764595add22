// SPDX-License-Identifier: GPL-2.0
/*
 * A socket that a process has created and used, and passes to a queue pair.
 *
 * The process keeps its descriptor. Other processes may have descriptors of the same socket, and
 * system calls on the socket may be in progress. The driver handles all of these cases:
 *
 * - The driver holds the file, so that closing a descriptor does not end the connection.
 * - The driver sets a ULP (sock_ulp.c). So neither another ULP nor a sockmap can be attached, and
 *   ss(8) shows that the socket belongs to this driver.
 * - The driver replaces the socket's operations by operations that fail. The socket keeps these
 *   operations until its last descriptor is closed, and the module stays loaded until then. A
 *   system call that began earlier can corrupt the stream, but this does no more harm than a
 *   malicious peer can do.
 * - poll(2) returns POLLHUP when the connection has ended.
 */
#include "sock.h"

#include <linux/module.h>
#include <linux/poll.h>
#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include <compat/custom_sockopt.h>
#include <compat/disconnect.h>
#include <compat/task_frag.h>

#include "dawdle.h"
#include "proto/wire.h"
#include "sock_priv.h"

/* Delay in jiffies until end_user() is retried: the first delay, and the maximum. */
#define USER_DELAY	1UL
#define USER_DELAY_MAX	(HZ / 4UL)

static __poll_t user_poll(struct file *file, struct socket *sock,
			  struct poll_table_struct *wait)
{
	const struct sock *sk = sock->sk;

	sock_poll_wait(file, sock, wait);
	/* POLLHUP: the connection has ended, and the queue pair can be reset */
	return READ_ONCE(sk->sk_user_data) ? 0 : EPOLLHUP;
}

/*
 * The last descriptor was closed, and the connection had ended before. The caller may be the work
 * item that closes files for the whole machine: so this function must not wait (linger), even if
 * the process has set SO_LINGER.
 */
static int user_release(struct socket *sock)
{
	struct sock *sk = sock->sk;

	/* the socket that accept(2) had allocated, before sock_no_accept() failed, has no sk */
	if (!sk)
		return 0;
	lock_sock(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	iwt_sock_drop_ulp(sk);
	release_sock(sk);
#if IS_ENABLED(CONFIG_IPV6)
	if (READ_ONCE(sock->ops)->family == PF_INET6)
		return inet6_release(sock);
#endif
	return inet_release(sock);
}

/* The system call of an operation that is missing here fails, too. */
#define REFUSING_OPS						\
	.owner		= THIS_MODULE,				\
	.release	= user_release,				\
	.bind		= sock_no_bind,				\
	.connect	= sock_no_connect,			\
	.socketpair	= sock_no_socketpair,			\
	.accept		= sock_no_accept,			\
	.poll		= user_poll,				\
	.ioctl		= sock_no_ioctl,			\
	.listen		= sock_no_listen,			\
	.shutdown	= sock_no_shutdown,			\
	.sendmsg	= sock_no_sendmsg,			\
	.recvmsg	= sock_no_recvmsg,			\
	.mmap		= sock_no_mmap

static const struct proto_ops user_ops4 = {
	REFUSING_OPS,
	.family		= PF_INET,
	.getname	= inet_getname,
};

#if IS_ENABLED(CONFIG_IPV6)
static const struct proto_ops user_ops6 = {
	REFUSING_OPS,
	.family		= PF_INET6,
	.getname	= inet6_getname,
};
#else
#define user_ops6	user_ops4
#endif

static bool has_our_ops(const struct socket *sock)
{
	const struct proto_ops *ops = READ_ONCE(sock->ops);

	return ops == &user_ops4 || ops == &user_ops6;
}

static bool is_tcp(const struct sock *sk)
{
	return (sk->sk_family == AF_INET || sk->sk_family == AF_INET6) &&
	       sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP;
}

/* May the driver take over the socket, which the caller has locked? Return: 0 or -errno. */
static int may_take(const struct sock *sk, const struct net *net)
{
	if (!net_eq(sock_net(sk), net))
		return -EADDRNOTAVAIL;
	if (inet_csk(sk)->icsk_ulp_ops || sk->sk_user_data || tcp_sk(sk)->repair)
		return -EBUSY;
	if (sk->sk_state != TCP_ESTABLISHED || sk->sk_shutdown || sk->sk_err)
		return -ENOTCONN;
	/* the send buffer must have room for a startup frame after the data of the process */
	if (sk_stream_wspace(sk) < IWT_MPA_MAX_FRAME)
		return -EAGAIN;
	return 0;
}

static struct socket *takeover_find(int fd, int *err)
{
	struct socket *sock = sockfd_lookup(fd, err);

	if (sock && !is_tcp(sock->sk)) {
		sockfd_put(sock);
		*err = -EPROTOTYPE;
		return NULL;
	}
	return sock;
}

/**
 * iwt_sock_look() - check whether iwt_sock_take() would take over a socket
 * @fd: descriptor of the calling process
 * @net: network namespace that the socket must belong to
 * @unread: set to whether the socket has received data that were not read
 * @local: receives the address of this end
 *
 * May sleep.
 *
 * Return: 0 if so; -EBADF or -ENOTSOCK for a wrong descriptor; -EPROTOTYPE for a socket that is
 * not TCP; -ENOTCONN if the socket is not connected, or one direction has ended; -EBUSY if
 * another subsystem uses the socket, the socket is in repair mode (TCP_REPAIR), or a system call
 * does not release the socket in time; -EINTR for a signal; -EADDRNOTAVAIL for a socket of
 * another namespace; -EAGAIN if the send buffer has no room for a startup frame.
 */
int iwt_sock_look(int fd, struct net *net, bool *unread,
		  struct sockaddr_storage *local)
{
	struct socket *sock;
	int err;

	sock = takeover_find(fd, &err);
	if (!sock)
		return err;
	err = iwt_sock_lock_within(sock->sk, IWT_SOCK_OWNER_MS);
	if (err)
		goto out_put;
	err = may_take(sock->sk, net);
	*unread = tcp_inq(sock->sk);
	iwt_sock_local(sock->sk, local);
	iwt_sock_unlock(sock->sk);
out_put:
	sockfd_put(sock);
	return err;
}

/* Set SO_RCVLOWAT; the socket is locked. */
static void set_rcvlowat(struct iwt_sock *s, int len)
{
	if (s->sock->ops->set_rcvlowat)
		s->sock->ops->set_rcvlowat(s->sk, len);
}

/*
 * Prepare a socket for engines that run in softirq, as prepare() in sock.c does for a socket of
 * this driver. Return: 0 or -errno.
 */
static int take_locked(struct iwt_sock *s, struct net *net)
{
	struct sock *sk = s->sk;
	int err;

	err = may_take(sk, net);
	if (err)
		return err;
	err = iwt_sock_hook(s);
	if (err)
		return err;
	s->saved.allocation = sk->sk_allocation;
	s->saved.rcvlowat = sk->sk_rcvlowat;
	sk->sk_allocation = GFP_ATOMIC;
	compat_sock_no_task_frag(sk);
	/* replace a value that the process may have set; the engines set their own value later */
	set_rcvlowat(s, 1);
	iwt_sock_set_ulp(sk, true);
	return 0;
}

/* Must the connection end without a FIN? The caller owns the socket. */
static bool must_abort(const struct iwt_sock *s)
{
	return s->sk->sk_state != TCP_CLOSE && (s->abort || s->sk->sk_state == TCP_SYN_SENT);
}

/* End the connection, although processes have descriptors. The caller owns the socket. */
static void end_connection(struct iwt_sock *s)
{
	struct sock *sk = s->sk;
	bool abort = must_abort(s);

	if (abort)
		sk->sk_prot->disconnect(sk, O_NONBLOCK);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (!abort && sk->sk_state != TCP_CLOSE)
		sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	/* wake poll(2), and threads that sleep in a system call */
	sk->sk_state_change(sk);
}

/*
 * End the connection and release the socket. May sleep, but does not wait for the network or for
 * a process: there may be thousands of such sockets, and each would need a thread that waits.
 * Return: false if the caller has to retry.
 */
static bool end_user(struct iwt_sock *s)
{
	bool lost;

	if (iwt_sock_own_within(s, 0))
		return false;
	end_connection(s);
	if (!compat_disconnects && must_abort(s)) {
		iwt_sock_disown(s);
		return false;
	}
	/*
	 * A setsockopt(2) that began before the takeover may have converted an IPv6 socket to
	 * IPv4 and replaced the operations (option IPV6_ADDRFORM). From here on no such call can
	 * succeed. If the operations were replaced, user_release() will not be called, so drop
	 * the ULP and the reference to the module here.
	 */
	lost = !has_our_ops(s->sock);
	if (lost)
		iwt_sock_drop_ulp(s->sk);
	iwt_sock_disown(s);
	if (lost)
		module_put(THIS_MODULE);
	sockfd_put(s->sock);
	iwt_sock_free_later(s);
	return true;
}

static void do_user_work(struct work_struct *work)
{
	struct iwt_sock *s = container_of(to_delayed_work(work), struct iwt_sock, user_work);
	unsigned long delay = s->user_delay;

	if (end_user(s))
		return;
	s->user_delay = min(2 * delay, USER_DELAY_MAX);
	/* after this call another worker may free the socket, so do not access it any more */
	iwt_sock_end_later(s, delay);
}

/*
 * iwt_sock_release() calls this function for a socket of a process, after iwt_sock_keep(). No
 * callback runs afterwards. If a system call owns the socket, the connection ends when that call
 * ends; no context waits for the call, and the file of the socket keeps the module loaded
 * meanwhile. May sleep, but does not wait for the network or for a process.
 */
static void release_user(struct iwt_sock *s, bool abort)
{
	spin_lock_bh(&s->sk->sk_lock.slock);
	iwt_sock_unhook(s);
	spin_unlock_bh(&s->sk->sk_lock.slock);
	iwt_doze();
	iwt_sock_set_ops(s, NULL, NULL);
	iwt_sock_put_user_timeout(s->sk, IWT_SOCK_ORPHAN_MS);
	s->abort = abort;
	s->user_delay = USER_DELAY;
	INIT_DELAYED_WORK(&s->user_work, do_user_work);
	do_user_work(&s->user_work.work);
}

/**
 * iwt_sock_take() - take over the socket of a process
 * @fd: descriptor of the calling process
 * @net: network namespace that the socket must belong to
 * @ops: callbacks
 * @ctx: argument of the callbacks
 * @unread: set to whether the socket has received data that were not read
 * @out: receives the socket
 *
 * No callback is called for data that arrived earlier. Afterwards the caller has to call
 * iwt_sock_keep() or iwt_sock_give_back(); if iwt_sock_keep() fails, the caller has to call
 * iwt_sock_give_back(), too. May sleep.
 *
 * Return: 0, -ENOMEM, or an error of iwt_sock_look().
 */
int iwt_sock_take(int fd, struct net *net, const struct iwt_sock_ops *ops,
		  void *ctx, bool *unread, struct iwt_sock **out)
{
	struct socket *sock;
	struct iwt_sock *s;
	int err;

	sock = takeover_find(fd, &err);
	if (!sock)
		return err;
	s = iwt_sock_new(sock, ops, ctx);
	if (!s) {
		err = -ENOMEM;
		goto err_put;
	}
	s->user = true;
	s->release = release_user;
	err = iwt_sock_lock_within(s->sk, IWT_SOCK_OWNER_MS);
	if (err)
		goto err_free;
	*unread = tcp_inq(s->sk);
	err = take_locked(s, net);
	iwt_sock_unlock(s->sk);
	if (err)
		goto err_free;
	*out = s;
	return 0;

err_free:
	iwt_sock_free_later(s);
err_put:
	sockfd_put(sock);
	return err;
}

/*
 * The callback sk_error_report: drop timestamps and similar reports, which the process has
 * requested but can't read any more. Otherwise the reports would occupy the receive buffer. Any
 * context, with or without the lock.
 *
 * A connect(2) to AF_UNSPEC that began before the takeover closes the connection, and calls no
 * callback except this function. So if the connection is closed, this function runs the engines.
 */
static void drop_reports(struct sock *sk)
{
	struct iwt_sock *s;
	struct sk_buff *skb;

	if (READ_ONCE(sk->sk_state) == TCP_CLOSE) {
		rcu_read_lock();
		s = rcu_dereference_sk_user_data(sk);
		if (s)
			iwt_sock_run_bh(s);
		rcu_read_unlock();
	}
	while ((skb = skb_dequeue(&sk->sk_error_queue)))
		dev_kfree_skb_any(skb);
}

/**
 * iwt_sock_keep() - the takeover is final: the process can't use its socket any more
 * @s: socket from iwt_sock_take()
 *
 * Later the caller has to release the socket with iwt_sock_release(). May sleep.
 *
 * Return: 0; -EBUSY if a system call does not release the socket in time; -EINTR for a signal.
 * After an error nothing has changed.
 */
int iwt_sock_keep(struct iwt_sock *s)
{
	struct sock *sk = s->sk;
	int err = iwt_sock_lock_within(sk, IWT_SOCK_OWNER_MS);

	if (err)
		return err;
	__module_get(THIS_MODULE);
	/* iwt_sock_give_back() could not restore the sizes that these functions change */
	iwt_sock_unbind(sk);
	/* before the operations are replaced: the new operations have no set_rcvlowat */
	iwt_sock_widen(s->sock);
	WRITE_ONCE(s->sock->ops, sk->sk_family == AF_INET6 ? &user_ops6 :
							     &user_ops4);
	/*
	 * setsockopt(2) of SOL_SOCKET must call the new operations, too; they have no setsockopt,
	 * so setsockopt(2) fails
	 */
	compat_sock_custom_sockopt(s->sock);
	sock_set_flag(sk, SOCK_URGINLINE);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_error_report = drop_reports;
	write_unlock_bh(&sk->sk_callback_lock);
	drop_reports(sk);
	/* the kernel's functions that set these options would acquire the lock again */
	if (sk->sk_prot->keepalive)
		sk->sk_prot->keepalive(sk, 1);
	sock_set_flag(sk, SOCK_KEEPOPEN);
	iwt_sock_undelay(sk);
	iwt_sock_unlock(sk);
	return 0;
}

/**
 * iwt_sock_give_back() - undo the takeover: the process can use its socket again
 * @s: socket from iwt_sock_take(), for which iwt_sock_keep() has not succeeded
 *
 * May sleep.
 */
void iwt_sock_give_back(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	spin_lock_bh(&sk->sk_lock.slock);
	iwt_sock_unhook(s);
	iwt_sock_drop_ulp(sk);
	sk->sk_allocation = s->saved.allocation;
	set_rcvlowat(s, s->saved.rcvlowat);
	/*
	 * Wake the process: data may have arrived during the takeover. Do so before the unlock:
	 * after the unlock another thread can take the socket over again, and sk_data_ready may
	 * be the callback of that takeover.
	 */
	sk->sk_data_ready(sk);
	spin_unlock_bh(&sk->sk_lock.slock);
	/* the task that owns the socket may still run a callback: wait for its end */
	iwt_sock_set_ops(s, NULL, NULL);
	sockfd_put(s->sock);
	iwt_sock_free_later(s);
}
