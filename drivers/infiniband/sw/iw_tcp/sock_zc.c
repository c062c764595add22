// SPDX-License-Identifier: GPL-2.0
/* Octets that TCP takes by reference and says when it has let go of them. */
#include "sock.h"

#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/**
 * iwt_sock_may_lend() - is it worth while to send by reference now?
 * @s: socket, lock held
 * @anywhere: not only where a network card will read the memory
 *
 * A probe for a larger MTU is a buffer that refers to the memory without saying
 * so, and takes the place of the one that does: where they are made, no.
 */
bool iwt_sock_may_lend(const struct iwt_sock *s, bool anywhere)
{
	const struct sock *sk = s->sk;

	if (!(sk->sk_route_caps & NETIF_F_SG) ||
	    READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_mtu_probing))
		return false;
	return anywhere || s->nic;
}

/**
 * iwt_sock_send_lent() - hand octets to TCP by reference, until further notice
 * @s: socket, lock held, not in the backlog
 * @piece: all pieces, referred to from elsewhere until this returns
 * @n: how many
 * @bytes: octets in them
 * @skip: octets that were sent before
 * @ubuf: hears when TCP, and who has it from TCP, has let go of all of them; a
 *	reference is held
 *
 * Where they end, so does a segment. Never sleeps. Return: as
 * iwt_sock_send_page().
 */
int iwt_sock_send_lent(struct iwt_sock *s, const struct bio_vec *piece, u32 n,
		       u32 bytes, u32 skip, struct ubuf_info *ubuf)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY |
			     MSG_EOR,
		.msg_ubuf = ubuf,
	};

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, piece, n, bytes);
	iov_iter_advance(&msg.msg_iter, skip);
	return iwt_sock_sendmsg(s, &msg, bytes - skip);
}
