// SPDX-License-Identifier: GPL-2.0
/* Queries of a socket: state, error, addresses, counts. */
#include "sock.h"

#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/**
 * iwt_sock_state() - state of the connection
 * @s: socket
 *
 * Any context.
 *
 * Return: the state.
 */
enum iwt_sock_state iwt_sock_state(const struct iwt_sock *s)
{
	switch (READ_ONCE(s->sk->sk_state)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return IWT_SOCK_CONNECTING;
	case TCP_ESTABLISHED:
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
		return IWT_SOCK_OPEN;
	case TCP_CLOSE_WAIT:
		return IWT_SOCK_PEER_CLOSED;
	default:
		return IWT_SOCK_CLOSED;
	}
}

/* Why did the connection fail? Any context. Return: -errno; 0 if TCP has reported no error. */
int iwt_sock_error(const struct iwt_sock *s)
{
	return -READ_ONCE(s->sk->sk_err);
}

/**
 * iwt_sock_acked() - how far the peer has acknowledged the sent data and FIN
 * @s: socket that is or was connected
 *
 * Any context; the result may be outdated when this function returns.
 *
 * Return: sequence number of the first byte, or of the FIN, that is not acknowledged.
 */
u32 iwt_sock_acked(const struct iwt_sock *s)
{
	return READ_ONCE(tcp_sk(s->sk)->snd_una);
}

static void put_name4(struct sockaddr_storage *a, __be32 addr, __be16 port)
{
	*(struct sockaddr_in *)a = (struct sockaddr_in) {
		.sin_family		= AF_INET,
		.sin_port		= port,
		.sin_addr.s_addr	= addr,
	};
}

#if IS_ENABLED(CONFIG_IPV6)
static void put_name6(struct sockaddr_storage *a, const struct in6_addr *addr,
		      __be16 port, int ifindex)
{
	*(struct sockaddr_in6 *)a = (struct sockaddr_in6) {
		.sin6_family	= AF_INET6,
		.sin6_port	= port,
		.sin6_addr	= *addr,
		.sin6_scope_id	= ipv6_iface_scope_id(addr, ifindex),
	};
}
#endif

/**
 * iwt_sock_local() - the local address of a connection
 * @sk: socket that is or was connected
 * @a: receives the address
 *
 * Reads the address that TCP uses, not the address that a BPF program shows to processes. Any
 * context; without the socket lock the result may be inconsistent.
 */
void iwt_sock_local(struct sock *sk, struct sockaddr_storage *a)
{
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		put_name6(a, &sk->sk_v6_rcv_saddr, inet->inet_sport,
			  sk->sk_bound_dev_if);
		return;
	}
#endif
	put_name4(a, inet->inet_rcv_saddr, inet->inet_sport);
}

static void put_remote(struct sock *sk, struct sockaddr_storage *a)
{
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		put_name6(a, &sk->sk_v6_daddr, inet->inet_dport,
			  sk->sk_bound_dev_if);
		return;
	}
#endif
	put_name4(a, inet->inet_daddr, inet->inet_dport);
}

/**
 * iwt_sock_names() - addresses of both ends
 * @s: socket
 * @local: receives the local address
 * @remote: receives the peer's address
 *
 * May sleep.
 *
 * Return: 0, -ENOTCONN if the socket is not connected, or an error of iwt_sock_own_soon().
 */
int iwt_sock_names(struct iwt_sock *s, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote)
{
	struct sock *sk = s->sk;
	int err = iwt_sock_own_soon(s);

	if (err)
		return err;
	if (!inet_sk(sk)->inet_dport || sk->sk_state == TCP_CLOSE ||
	    sk->sk_state == TCP_SYN_SENT) {
		err = -ENOTCONN;
	} else {
		iwt_sock_local(sk, local);
		put_remote(sk, remote);
	}
	iwt_sock_disown(s);
	return err;
}

/**
 * iwt_sock_names_now() - addresses of both ends, for display
 * @s: socket that was connected
 * @local: receives the local address
 * @remote: receives the peer's address
 *
 * Any context. If a process disconnects its socket meanwhile, the result may be inconsistent.
 */
void iwt_sock_names_now(const struct iwt_sock *s, struct sockaddr_storage *local,
			struct sockaddr_storage *remote)
{
	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	iwt_sock_local(s->sk, local);
	put_remote(s->sk, remote);
}

/**
 * iwt_sock_in_backlog() - does a task own the socket, so that this callback runs in the backlog?
 * @s: socket, lock held
 *
 * Return: true if so. Then the caller must not send: TCP might process the rest of the backlog,
 * and sleep.
 */
bool iwt_sock_in_backlog(const struct iwt_sock *s)
{
	return sock_owned_by_user(s->sk);
}

/**
 * iwt_sock_mss() - size of a full segment: the EMSS (RFC 5044 2)
 * @s: socket; without its lock the result may be outdated
 *
 * Return: size in bytes.
 */
u32 iwt_sock_mss(const struct iwt_sock *s)
{
	return iwt_sock_segment(s);
}

/**
 * iwt_sock_segs() - how many segments with data has TCP received and sent?
 * @s: socket
 *
 * Any context.
 *
 * Return: counts modulo 2^32.
 */
struct iwt_sock_segs iwt_sock_segs(const struct iwt_sock *s)
{
	const struct tcp_sock *tp = tcp_sk(s->sk);

	return (struct iwt_sock_segs) {
		.in = tp->data_segs_in,
		.out = tp->data_segs_out,
	};
}
