// SPDX-License-Identifier: GPL-2.0
/*
 * Acts on a socket at the request of a test, as processes and the network may act at the worst
 * moment.
 *
 * Each line that is written to the file "ctl" of this module's debugfs directory is a request:
 *
 *	hold FD		a thread owns the socket; several sockets may be held
 *	pulse FD	a thread owns the socket again and again, so that the thread processes
 *			most segments that TCP receives
 *	ambush FD	this module takes the ownership of the socket just before the next call of
 *			lock_sock(), and keeps the ownership
 *	waylay FD	this module takes the ownership just before the next caller checks for an
 *			owner in order to wait with a time limit (prepare_to_wait())
 *	begin FD	system calls on the socket begin: they read the socket's operations now
 *	listen, shutdown, send, recv	the call of this name continues
 *	connect		a connect() to no address (AF_UNSPEC) continues
 *	reconnect	a connect() to the address of the peer continues
 *	half		a shutdown() of the sending direction continues
 *	blind PORT	data that arrive for this port, through a net device of the writer's
 *			namespace, are marked as memory that the CPU cannot read
 *	end		ends everything that earlier lines began
 *
 * Only "hold" works with more than one socket at a time. A reader of the file gets "1" if
 * "ambush" or "waylay" has taken the ownership before a caller, otherwise "0".
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/sock.h>

#include "held.h"

#define MOST	256

static DEFINE_MUTEX(held_lock);
static struct socket *held[MOST];
static unsigned int n_held;
static bool alone;	/* no other socket may be added */
static struct dentry *held_dir;

static int with_socket(const char *what, struct socket *sock)
{
	if (!strcmp(what, "hold"))
		return iwt_held_hold(sock->sk, false);
	if (!strcmp(what, "pulse"))
		return iwt_held_hold(sock->sk, true);
	if (!strcmp(what, "ambush"))
		return iwt_held_ambush(sock->sk, false);
	if (!strcmp(what, "waylay"))
		return iwt_held_ambush(sock->sk, true);
	if (!strcmp(what, "begin"))
		return iwt_held_begin(sock);
	return -EINVAL;
}

static int take(const char *what, int fd)
{
	struct socket *sock;
	int err;

	if (n_held == MOST || (n_held && (alone || strcmp(what, "hold"))))
		return -EBUSY;
	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return err;
	err = with_socket(what, sock);
	if (err) {
		sockfd_put(sock);
		return err;
	}
	held[n_held++] = sock;
	alone = strcmp(what, "hold");
	return 0;
}

static int end(void)
{
	iwt_held_see();
	iwt_held_let_go();
	iwt_held_forget();
	while (n_held)
		sockfd_put(held[--n_held]);
	return 0;
}

static int obey(char *line)
{
	char *what = strsep(&line, "\n ");
	char *number = strsep(&line, "\n ");
	int n, err;

	if (!strcmp(what, "end"))
		return end();
	if (!number || !*number)
		return n_held ? iwt_held_go_on(what) : -EINVAL;
	err = kstrtoint(number, 10, &n);
	if (err)
		return err;
	if (!strcmp(what, "blind"))
		return iwt_held_blind(n);
	return take(what, n);
}

static ssize_t ctl_write(struct file *file, const char __user *from, size_t len,
			 loff_t *pos)
{
	char *line;
	int err;

	if (len > 100)
		return -EINVAL;
	line = memdup_user_nul(from, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&held_lock);
	err = obey(line);
	mutex_unlock(&held_lock);
	kfree(line);
	return err ?: len;
}

static ssize_t ctl_read(struct file *file, char __user *to, size_t len,
			loff_t *pos)
{
	return simple_read_from_buffer(to, len, pos,
				       iwt_held_caught() ? "1\n" : "0\n", 2);
}

static const struct file_operations ctl_fops = {
	.owner = THIS_MODULE,
	.read = ctl_read,
	.write = ctl_write,
};

static int __init held_init(void)
{
	held_dir = debugfs_create_dir("iwt_held", NULL);
	if (IS_ERR(held_dir))
		return PTR_ERR(held_dir);
	debugfs_create_file_unsafe("ctl", 0600, held_dir, NULL, &ctl_fops);
	return 0;
}

static void __exit held_exit(void)
{
	debugfs_remove_recursive(held_dir);
	end();
}

module_init(held_init);
module_exit(held_exit);
MODULE_DESCRIPTION("Owners of sockets that tests tell what to do");
MODULE_LICENSE("GPL");
