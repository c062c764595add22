// SPDX-License-Identifier: GPL-2.0
/*
 * The owner of a socket: the memory control group that is charged for TCP's memory, the control
 * group whose BPF programs apply, and the user that ss(8) shows.
 *
 * A socket inherits the groups and the user from the task that creates the socket. But a worker
 * of this module may create the socket: for an inbound connection, long before a process accepts
 * the connection; and for each attempt to open a direct connection. So the driver sets the owner
 * when a process accepts, and when a connection of a process begins.
 *
 * This file also determines the rights of the requester of a netlink answer, for example of ss(8)
 * or rdma(8). The requester is the task that opened the netlink socket. If this task has passed
 * the descriptor to another task, the other task needs the right, too.
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
/*
 * Charge TCP's memory to @memcg, as the kernel does in cgroup v2 if a task of this group creates
 * a socket. The root group is not charged, and with cgroup v1 no group is charged.
 */
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

#ifdef CONFIG_SOCK_CGROUP_DATA
/**
 * iwt_sock_get_cgroup() - get the control group of the running task
 *
 * Process context.
 *
 * Return: the group, with the references that a socket of the task would have; NULL if the kernel
 * does not record the group of a socket, or if the group is being removed.
 */
struct cgroup *iwt_sock_get_cgroup(void)
{
	struct cgroup *cgroup;

	rcu_read_lock();
	cgroup = task_dfl_cgroup(current);
	if (cgroup_tryget(cgroup))
		cgroup_bpf_get(cgroup);
	else
		cgroup = NULL;
	rcu_read_unlock();
	return cgroup;
}

/**
 * iwt_sock_put_cgroup() - give back a control group
 * @cgroup: from iwt_sock_get_cgroup(), or NULL
 *
 * Any context.
 */
void iwt_sock_put_cgroup(struct cgroup *cgroup)
{
	if (!cgroup)
		return;
	cgroup_bpf_put(cgroup);
	cgroup_put(cgroup);
}

/*
 * Apply the BPF programs of @cgroup to the socket, and let packet filters find @cgroup. Return:
 * the former group, whose references the caller gets; NULL if nothing has changed.
 */
static struct cgroup *set_cgroup(struct sock *sk, struct cgroup *cgroup)
{
	struct cgroup *was = sock_cgroup_ptr(&sk->sk_cgrp_data);

	if (!cgroup || cgroup == was)
		return NULL;
	cgroup_get(cgroup);
	cgroup_bpf_get(cgroup);
	WRITE_ONCE(sk->sk_cgrp_data.cgroup, cgroup);
	return was;
}
#else
struct cgroup *iwt_sock_get_cgroup(void)
{
	return NULL;
}

void iwt_sock_put_cgroup(struct cgroup *cgroup)
{
}

static struct cgroup *set_cgroup(struct sock *sk, struct cgroup *cgroup)
{
	return NULL;
}
#endif

/**
 * iwt_sock_hand_over() - set the owner of a socket for which TCP holds no memory
 * @sk: socket of this module, locked or not visible to other contexts
 * @owner: new owner
 * @was: receives the former control group, for iwt_sock_put_cgroup(); NULL if nothing has changed
 *
 * If TCP already held memory, this memory would not have been charged to @owner, but TCP would
 * uncharge it from @owner when TCP frees it. Process context.
 *
 * Return: true if the owner is set; false if TCP holds memory for the socket: then nothing has
 * changed.
 */
bool iwt_sock_hand_over(struct sock *sk, const struct iwt_sock_owner *owner, struct cgroup **was)
{
	*was = NULL;
	sk_mem_reclaim(sk);
	if (atomic_read(&sk->sk_rmem_alloc) || sk->sk_wmem_queued || sk->sk_forward_alloc)
		return false;
	set_user(sk, owner->uid);
	*was = set_cgroup(sk, owner->cgroup);
	if (owner->memcg)
		set_memcg(sk, owner->memcg);
	return true;
}

/**
 * iwt_sock_set_owner() - set the owner of a connection that a process accepts
 * @s: socket of this module that has sent nothing; all received data have been read
 * @owner: new owner
 *
 * Bottom halves and netlink answers about the socket may still use the former control group, the
 * latter without RCU. So this group is kept until the socket ends. Process context, may sleep.
 *
 * Return: true if the owner is set; false if the peer has sent more data, so that TCP holds
 * memory: then nothing has changed.
 */
bool iwt_sock_set_owner(struct iwt_sock *s, const struct iwt_sock_owner *owner)
{
	struct cgroup *was;
	bool done;

	lock_sock(s->sk);
	done = iwt_sock_hand_over(s->sk, owner, &was);
	if (was)
		swap(was, s->was_cgroup);
	release_sock(s->sk);
	iwt_sock_put_cgroup(was);
	return done;
}

/**
 * iwt_sock_asker_net() - the network namespace of the requester of a netlink answer
 * @msg: the answer; if the answer has no socket yet, the running task is the requester
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
 * iwt_sock_asker_admin() - is the requester of a netlink answer an administrator of the machine?
 * @msg: the answer
 *
 * Process context.
 *
 * Return: true if both the task that opened the socket and the running task have CAP_NET_ADMIN;
 * false if not, or if the answer has no socket yet, so that the opener is unknown.
 */
bool iwt_sock_asker_admin(const struct sk_buff *msg)
{
	return msg->sk && sk_ns_capable(msg->sk, &init_user_ns, CAP_NET_ADMIN);
}
