// SPDX-License-Identifier: GPL-2.0
/* Detecting a dead peer: keepalive, user timeout, probes while closing. */
#include "sock.h"

#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/*
 * Number of unanswered keepalive probes after which TCP ends the connection. TCP sends the first
 * probe after the time keepidle, and ends the connection when about the same time has passed
 * since the first probe.
 */
#define IWT_SOCK_PROBES		4
/* Milliseconds without a segment from the peer after which iwt_sock_unanswered() is true. */
#define IWT_SOCK_SILENT_MS	2500

/*
 * Set how TCP probes an idle peer, and restart the timer. @idle: seconds until the first probe.
 * @between: seconds between probes. @probes: number of unanswered probes after which TCP ends the
 * connection. If a value is 0, TCP uses the setting of the namespace. The caller owns the socket.
 */
static void set_keepalive(struct sock *sk, u32 idle, u32 between, u32 probes)
{
	iwt_sock_put_keepalive(sk, idle, between, probes);
	/* TCP starts the timer only if the flag is clear */
	sock_reset_flag(sk, SOCK_KEEPOPEN);
	sk->sk_prot->keepalive(sk, 1);
	sock_set_flag(sk, SOCK_KEEPOPEN);
}

/**
 * iwt_sock_set_timeouts() - set how long a peer may be silent
 * @s: connected socket
 * @keepidle: seconds without a segment after which TCP probes the peer; 0: TCP's default
 * @user_timeout: TCP ends the connection if the peer leaves data unacknowledged, or keeps its
 *	window closed, for this many seconds; 0: TCP's default
 *
 * Nothing is set if a system call does not release the socket of a process in time, or in a
 * driver that is built with IWT_WITHOUT=TUNE. May sleep.
 */
void iwt_sock_set_timeouts(struct iwt_sock *s, u32 keepidle, u32 user_timeout)
{
	/* TCP's own functions that set these fields would acquire the lock themselves */
	if (iwt_sock_own_soon(s))
		return;
	if (keepidle) {
		keepidle = min_t(u32, keepidle, MAX_TCP_KEEPIDLE);
		set_keepalive(s->sk, keepidle, DIV_ROUND_UP(keepidle, IWT_SOCK_PROBES),
			      IWT_SOCK_PROBES);
	} else if (s->asks) {
		/* with zeros, TCP uses the settings of the namespace */
		set_keepalive(s->sk, 0, 0, 0);
	}
	s->asks = false;
	if (user_timeout)
		iwt_sock_put_user_timeout(s->sk, user_timeout * MSEC_PER_SEC);
	iwt_sock_disown(s);
}

/**
 * iwt_sock_ask() - probe the peer each second
 * @sk: socket that the caller owns
 *
 * After a FIN, iwt_sock_unanswered() needs these probes: if the peer has acknowledged the FIN,
 * TCP has nothing to retransmit. Because of these probes TCP ends the connection only after
 * MAX_TCP_KEEPCNT unanswered probes; the deadline of the endpoint passes before that.
 */
void iwt_sock_ask(struct sock *sk)
{
	set_keepalive(sk, 1, 1, MAX_TCP_KEEPCNT);
}

/**
 * iwt_sock_ask_early() - probe the peer each second until iwt_sock_set_timeouts()
 * @s: connected socket on which the peer has to answer the Request
 *
 * A peer that refuses the Request may reset the connection, and TCP does not repeat a RST that is
 * lost. But the peer's TCP answers a probe of an unknown connection with another RST. If a system
 * call does not release the socket of a process in time, nothing is set. May sleep.
 */
void iwt_sock_ask_early(struct iwt_sock *s)
{
	if (iwt_sock_own_soon(s))
		return;
	s->asks = true;
	iwt_sock_ask(s->sk);
	iwt_sock_disown(s);
}

/**
 * iwt_sock_unanswered() - does the peer seem not to answer?
 * @s: socket
 *
 * The result is true if the peer has not answered TCP's last retransmission or probe yet, or if
 * no segment has arrived for IWT_SOCK_SILENT_MS. The second condition is necessary because TCP
 * probes a closed window at growing intervals of up to two minutes, so TCP may notice a dead path
 * late. A peer that only keeps its window closed answers each probe. Once the socket is closed,
 * for example by a reset, the result is false. Any context; the result may be outdated when this
 * function returns.
 *
 * Return: true if so.
 */
bool iwt_sock_unanswered(const struct iwt_sock *s)
{
	const struct inet_connection_sock *icsk = inet_csk(s->sk);

	if (READ_ONCE(s->sk->sk_state) == TCP_CLOSE)
		return false;
	return READ_ONCE(icsk->icsk_retransmits) || READ_ONCE(icsk->icsk_probes_out) ||
	       keepalive_time_elapsed(tcp_sk(s->sk)) >= msecs_to_jiffies(IWT_SOCK_SILENT_MS);
}
