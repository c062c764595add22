// SPDX-License-Identifier: GPL-2.0
/*
 * Whose a socket is: who is charged for TCP's memory, and the user whom others see.
 *
 * A socket takes that from the task that makes it. This module's worker makes the sockets of
 * accepted connections, long before anybody accepts; so they are handed over later.
 *
 * Answers of netlink are for whoever opened the socket. The task that reads or writes there may
 * be another one, which was given the descriptor, and lends its rights to nobody.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <linux/netlink.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "sock_priv.h"

static void set_user(struct sock *sk, kuid_t uid)
{
	SOCK_INODE(sk->sk_socket)->i_uid = uid;
	WRITE_ONCE(sk->sk_uid, uid);
}

#ifdef CONFIG_MEMCG
/* As TCP does for a socket that a task of the group makes; the root group is charged nothing. */
static void set_memcg(struct sock *sk, struct mem_cgroup *memcg)
{
	if (!mem_cgroup_sockets_enabled || sk->sk_memcg || !memcg->css.parent ||
	    !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return;
	css_get(&memcg->css);
	sk->sk_memcg = memcg;
}
#else
static void set_memcg(struct sock *sk, struct mem_cgroup *memcg)
{
}
#endif

/**
 * iwt_sock_hand_over() - a socket without memory gets its owner
 * @sk: socket of this module, locked or unknown to others
 * @owner: its owner
 *
 * What TCP has of memory was not charged to the owner, and must not be uncharged.
 *
 * Return: true; false if TCP has memory for it: then nothing has changed.
 */
bool iwt_sock_hand_over(struct sock *sk, const struct iwt_sock_owner *owner)
{
	sk_mem_reclaim(sk);
	if (atomic_read(&sk->sk_rmem_alloc) || sk->sk_wmem_queued || sk->sk_forward_alloc)
		return false;
	set_user(sk, owner->uid);
	if (owner->memcg)
		set_memcg(sk, owner->memcg);
	return true;
}

/**
 * iwt_sock_set_owner() - a connection that was accepted gets its owner
 * @s: socket of this module's own, which has sent nothing, and whose octets have all been read
 * @owner: its owner
 *
 * Process context, may sleep.
 *
 * Return: true; false if the peer has sent more: then nothing has changed.
 */
bool iwt_sock_set_owner(struct iwt_sock *s, const struct iwt_sock_owner *owner)
{
	bool done;

	lock_sock(s->sk);
	done = iwt_sock_hand_over(s->sk, owner);
	release_sock(s->sk);
	return done;
}

/**
 * iwt_sock_asker_net() - the network namespace of who asks by netlink
 * @msg: the answer; if no socket has it yet, the running task asks
 *
 * Process context.
 *
 * Return: the namespace.
 */
const struct net *iwt_sock_asker_net(const struct sk_buff *msg)
{
	return msg->sk ? sock_net(msg->sk) : current->nsproxy->net_ns;
}

/**
 * iwt_sock_asker_admin() - has an administrator of the machine asked by netlink?
 * @msg: the answer; if no socket has it yet, nobody knows who has opened that
 *
 * Process context.
 *
 * Return: true if so.
 */
bool iwt_sock_asker_admin(const struct sk_buff *msg)
{
	return msg->sk && sk_ns_capable(msg->sk, &init_user_ns, CAP_NET_ADMIN);
}
