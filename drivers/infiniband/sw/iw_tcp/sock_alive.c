// SPDX-License-Identifier: GPL-2.0
/* Is the peer still there? How long it may be silent, and how it is asked. */
#include "sock.h"

#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/* Probes that an idle peer may leave without an answer; they take as long as it was idle. */
#define IWT_SOCK_PROBES		4

/* In seconds, and from now on. The caller owns the socket. */
static void set_keepalive(struct sock *sk, u32 idle, u32 between, u32 probes)
{
	iwt_sock_put_keepalive(sk, idle, between, probes);
	/* start the timer anew */
	sock_reset_flag(sk, SOCK_KEEPOPEN);
	sk->sk_prot->keepalive(sk, 1);
	sock_set_flag(sk, SOCK_KEEPOPEN);
}

/**
 * iwt_sock_set_timeouts() - how long a peer may be silent
 * @s: connected socket
 * @keepidle: seconds without a segment after which one is asked for; 0: as TCP does
 * @user_timeout: seconds, without an acknowledgment or with a closed window, after which
 *	TCP gives up; 0: as TCP does
 *
 * Nothing is set if a process's system call does not let the socket go. May sleep.
 */
void iwt_sock_set_timeouts(struct iwt_sock *s, u32 keepidle, u32 user_timeout)
{
	/* TCP's own functions for this take the lock themselves */
	if (iwt_sock_own_soon(s))
		return;
	if (keepidle) {
		keepidle = min_t(u32, keepidle, MAX_TCP_KEEPIDLE);
		set_keepalive(s->sk, keepidle, DIV_ROUND_UP(keepidle, IWT_SOCK_PROBES),
			      IWT_SOCK_PROBES);
	}
	if (user_timeout)
		iwt_sock_put_user_timeout(s->sk, user_timeout * MSEC_PER_SEC);
	iwt_sock_disown(s);
}

/**
 * iwt_sock_ask() - ask the peer each second whether it is there
 * @sk: socket that the caller owns, with FIN behind what is queued
 *
 * For iwt_sock_unanswered(): the peer may have acknowledged FIN, so that TCP has nothing to send
 * again. TCP does not give up by itself before the endpoint does.
 */
void iwt_sock_ask(struct sock *sk)
{
	set_keepalive(sk, 1, 1, MAX_TCP_KEEPCNT);
}

/**
 * iwt_sock_unanswered() - has TCP repeated something, and got no answer?
 * @s: socket
 *
 * A peer that keeps its window closed answers. Any context; the value may be old when this
 * returns.
 *
 * Return: true if so.
 */
bool iwt_sock_unanswered(const struct iwt_sock *s)
{
	const struct inet_connection_sock *icsk = inet_csk(s->sk);

	return READ_ONCE(icsk->icsk_retransmits) || READ_ONCE(icsk->icsk_probes_out);
}
