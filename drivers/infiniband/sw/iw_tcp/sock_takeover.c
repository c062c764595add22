// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets that a process has made and talked over, and hands to a queue pair.
 *
 * The process keeps its descriptor, and so may others have one; some may be
 * inside of a system call on it. What is sound with all of them:
 *
 * - The file is held, so that to close the descriptor ends nothing.
 * - The socket has a ULP, ours, which TCP itself takes for a sign that it is in
 *   other hands: no other ULP is attached (kTLS, sockmap), nobody makes it
 *   listen, and ss(8) shows whose it is.
 * - Its operations are replaced by ones that refuse, until the file is closed
 *   for the last time. What was under way can only spoil the stream, like a
 *   peer can. The module stays loaded for as long as the file is open.
 * - poll(2) says POLLHUP when the connection is over: all that is left to know.
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
#include <compat/task_frag.h>

#include "proto/wire.h"
#include "sock_priv.h"

/* How soon to look again whether it has ended, in jiffies: at first, and at most. */
#define USER_DELAY	1UL
#define USER_DELAY_MAX	(HZ / 4UL)

static const struct tcp_ulp_ops iwt_ulp = {
	.name	= "iw_tcp",
	.owner	= THIS_MODULE,
};

/* With the socket locked: is it in our hands? */
static bool has_our_ulp(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ulp_ops == &iwt_ulp;
}

static void set_ulp(struct sock *sk)
{
	__module_get(THIS_MODULE);
	inet_csk(sk)->icsk_ulp_ops = &iwt_ulp;
}

/* Whoever calls has the module by something else. */
static void drop_ulp(struct sock *sk)
{
	if (!has_our_ulp(sk))
		return;
	inet_csk(sk)->icsk_ulp_ops = NULL;
	module_put(THIS_MODULE);
}

static __poll_t user_poll(struct file *file, struct socket *sock,
			  struct poll_table_struct *wait)
{
	const struct sock *sk = sock->sk;

	sock_poll_wait(file, sock, wait);
	/* over for us, so that the queue pair can be reset */
	return READ_ONCE(sk->sk_user_data) ? 0 : EPOLLHUP;
}

/*
 * The last descriptor is gone, and the connection was ended before. This may be
 * the work that closes files of the whole machine: it must not linger because
 * the process would have liked to.
 */
static int user_release(struct socket *sock)
{
	struct sock *sk = sock->sk;

	/* what accept(2) was to fill, before it was refused */
	if (!sk)
		return 0;
	lock_sock(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	drop_ulp(sk);
	release_sock(sk);
#if IS_ENABLED(CONFIG_IPV6)
	if (READ_ONCE(sock->ops)->family == PF_INET6)
		return inet6_release(sock);
#endif
	return inet_release(sock);
}

/* What is not there is refused by the core. */
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

/* With the socket locked: can we have it? */
static int may_take(const struct sock *sk, const struct net *net)
{
	if (!net_eq(sock_net(sk), net))
		return -EADDRNOTAVAIL;
	if (inet_csk(sk)->icsk_ulp_ops || sk->sk_user_data || tcp_sk(sk)->repair)
		return -EBUSY;
	if (sk->sk_state != TCP_ESTABLISHED || sk->sk_shutdown || sk->sk_err)
		return -ENOTCONN;
	/* room for a startup frame behind what the process has sent */
	if (sk_stream_wspace(sk) < IWT_MPA_MAX_FRAME)
		return -EAGAIN;
	return 0;
}

static struct socket *find(int fd, int *err)
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
 * iwt_sock_look() - could iwt_sock_take() have a socket?
 * @fd: descriptor of the calling process
 * @net: network namespace that it must be of
 * @unread: takes whether something has come and was not read
 * @local: takes our end's address
 *
 * May sleep. Return: 0; -EBADF, -ENOTSOCK; -EPROTOTYPE when it is not of TCP;
 * -ENOTCONN when it is not, or not fully, connected; -EBUSY when it is in other
 * hands, or somebody's system call on it does not end; -EINTR; -EADDRNOTAVAIL when it is of
 * another namespace; -EAGAIN when TCP has no room for a startup frame.
 */
int iwt_sock_look(int fd, struct net *net, bool *unread,
		  struct sockaddr_storage *local)
{
	struct socket *sock;
	int err;

	sock = find(fd, &err);
	if (!sock)
		return err;
	err = iwt_sock_lock_within(sock->sk, IWT_SOCK_OWNER_MS);
	if (!err) {
		err = may_take(sock->sk, net);
		*unread = tcp_inq(sock->sk);
		iwt_sock_local(sock->sk, local);
		iwt_sock_unlock(sock->sk);
	}
	sockfd_put(sock);
	return err;
}

/* Now or later its engines run in softirq; see prepare() in sock.c. */
static int take_locked(struct iwt_sock *s, struct net *net)
{
	struct sock *sk = s->sk;
	int err = may_take(sk, net);

	if (!err)
		err = iwt_sock_hook(s);
	if (err)
		return err;
	s->saved.allocation = sk->sk_allocation;
	s->saved.rcvlowat = sk->sk_rcvlowat;
	sk->sk_allocation = GFP_ATOMIC;
	compat_sock_no_task_frag(sk);
	/* the process's bounds were meant for its own reading */
	sk->sk_userlocks &= ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
	iwt_sock_widen(s->sock);
	set_ulp(sk);
	return 0;
}

/*
 * End the connection, though others have a descriptor. With the socket owned. Return: false
 * when that has to be tried again: an older kernel does not disconnect what a thread sleeps
 * on, and these threads are awake now.
 */
static bool end_connection(struct iwt_sock *s)
{
	struct sock *sk = s->sk;
	bool done = true;

	if (sk->sk_state != TCP_CLOSE && (s->abort || sk->sk_state == TCP_SYN_SENT))
		done = !sk->sk_prot->disconnect(sk, O_NONBLOCK);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (sk->sk_state != TCP_CLOSE && done)
		sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	/* wakes who polls */
	sk->sk_state_change(sk);
	return done;
}

/*
 * May sleep, but neither for the network nor for processes: there may be thousands of such
 * sockets, and each would need a thread to wait in. Return: false as above.
 */
static bool end_user(struct iwt_sock *s)
{
	bool lost;

	if (iwt_sock_own_within(s, 0))
		return false;
	if (!end_connection(s)) {
		iwt_sock_disown(s);
		return false;
	}
	/*
	 * One of IPv6 that speaks IPv4 may have been made one of IPv4 (the
	 * option IPV6_ADDRFORM) by a call that began before: with other
	 * operations. No such call can succeed from here on.
	 */
	lost = !has_our_ops(s->sock);
	if (lost)
		drop_ulp(s->sk);
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
	/* a worker may have freed it when this returns: see release_user() */
	iwt_sock_end_later(s, delay);
}

/*
 * iwt_sock_release() of a socket that has been kept. No callback runs afterwards. If a
 * process's system call owns the socket, the connection ends when that call does: nobody waits
 * for it, and the file holds the module meanwhile. May sleep, but neither for the network nor
 * for processes.
 */
static void release_user(struct iwt_sock *s, bool abort)
{
	spin_lock_bh(&s->sk->sk_lock.slock);
	iwt_sock_unhook(s);
	spin_unlock_bh(&s->sk->sk_lock.slock);
	iwt_sock_set_ops(s, NULL, NULL);
	WRITE_ONCE(inet_csk(s->sk)->icsk_user_timeout, IWT_SOCK_ORPHAN_MS);
	s->abort = abort;
	s->user_delay = USER_DELAY;
	INIT_DELAYED_WORK(&s->user_work, do_user_work);
	do_user_work(&s->user_work.work);
}

/**
 * iwt_sock_take() - take over the socket of a process
 * @fd: descriptor of the calling process
 * @net: network namespace that it must be of
 * @ops: callbacks
 * @ctx: their argument
 * @unread: takes whether something has come and was not read
 * @out: takes the socket
 *
 * What has arrived before is not announced: look. Either iwt_sock_keep() or
 * iwt_sock_give_back() has to follow. May sleep. Return: 0, -ENOMEM, or see
 * iwt_sock_look().
 */
int iwt_sock_take(int fd, struct net *net, const struct iwt_sock_ops *ops,
		  void *ctx, bool *unread, struct iwt_sock **out)
{
	struct socket *sock;
	struct iwt_sock *s;
	int err;

	sock = find(fd, &err);
	if (!sock)
		return err;
	s = iwt_sock_new(sock, ops, ctx);
	if (!s) {
		sockfd_put(sock);
		return -ENOMEM;
	}
	s->user = true;
	s->release = release_user;
	err = iwt_sock_lock_within(s->sk, IWT_SOCK_OWNER_MS);
	if (!err) {
		*unread = tcp_inq(s->sk);
		err = take_locked(s, net);
		iwt_sock_unlock(s->sk);
	}
	if (err) {
		sockfd_put(sock);
		iwt_sock_free_later(s);
		return err;
	}
	*out = s;
	return 0;
}

/*
 * Timestamps and the like, which a process has asked for and can't read any more; they
 * would take the room of what arrives. Any context, without the lock. A connect(2) to
 * nowhere that began before closes the connection without another word.
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
 * iwt_sock_keep() - from now on the process can't use its socket
 * @s: socket from iwt_sock_take()
 *
 * It ends by iwt_sock_release(). May sleep. Return: 0, or -EBUSY or -EINTR when somebody's
 * system call on it does not end.
 */
int iwt_sock_keep(struct iwt_sock *s)
{
	struct sock *sk = s->sk;
	int err = iwt_sock_lock_within(sk, IWT_SOCK_OWNER_MS);

	if (err)
		return err;
	__module_get(THIS_MODULE);
	WRITE_ONCE(s->sock->ops, sk->sk_family == AF_INET6 ? &user_ops6 :
							     &user_ops4);
	/* our operations have no options */
	compat_sock_custom_sockopt(s->sock);
	sock_set_flag(sk, SOCK_URGINLINE);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_error_report = drop_reports;
	write_unlock_bh(&sk->sk_callback_lock);
	drop_reports(sk);
	/* what sets these would wait for the lock */
	if (sk->sk_prot->keepalive)
		sk->sk_prot->keepalive(sk, 1);
	sock_set_flag(sk, SOCK_KEEPOPEN);
	tcp_sk(sk)->nonagle &= ~TCP_NAGLE_CORK;
	tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF | TCP_NAGLE_PUSH;
	iwt_sock_unlock(sk);
	return 0;
}

/**
 * iwt_sock_give_back() - it is the process's own again
 * @s: socket from iwt_sock_take() that has not been kept
 *
 * May sleep.
 */
void iwt_sock_give_back(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	spin_lock_bh(&sk->sk_lock.slock);
	iwt_sock_unhook(s);
	drop_ulp(sk);
	sk->sk_allocation = s->saved.allocation;
	if (s->sock->ops->set_rcvlowat)
		s->sock->ops->set_rcvlowat(sk, s->saved.rcvlowat);
	spin_unlock_bh(&sk->sk_lock.slock);
	/* an owner may be in a callback */
	iwt_sock_set_ops(s, NULL, NULL);
	/* what has come meanwhile was not announced */
	sk->sk_data_ready(sk);
	sockfd_put(s->sock);
	iwt_sock_free_later(s);
}
