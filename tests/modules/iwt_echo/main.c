// SPDX-License-Identifier: GPL-2.0
/*
 * An echo server in the kernel for the Python peer (tests/peer). The receive buffers and the
 * sinks of Reads are kernel memory that is not registered as a memory region (local_dma_lkey).
 *
 * To start it, write a line "FD ADDRESS PORT" to the file "listen" of this module's debugfs
 * directory. FD is the writer's descriptor of the network namespace in which the server listens.
 * Each line first ends the previous listener and all connections; an empty line does only this.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include "echo.h"

static DEFINE_MUTEX(lock);
static struct rdma_cm_id *listener;
static struct dentry *dir;

static int on_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return iwt_echo_accept(id);
	if (id->context)
		return iwt_echo_event(id, ev);
	/*
	 * If the device is removed, let rdma_cm destroy the listener (return 1), unless stop()
	 * destroys the listener already
	 */
	return ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL && cmpxchg(&listener, id, NULL) == id;
}

static void stop(void)
{
	struct rdma_cm_id *id = xchg(&listener, NULL);

	lockdep_assert_held(&lock);
	if (id)
		rdma_destroy_id(id);
	iwt_echo_end_all();
}

static int start(struct net *net, struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(net, on_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	listener = id;
	return rdma_bind_addr(id, (struct sockaddr *)addr) ?: rdma_listen(id, 64);
}

/* Parses "FD ADDRESS PORT" and starts the listener. */
static int parse_and_start(char *line)
{
	struct sockaddr_storage addr;
	char name[64], port[8];
	struct net *net;
	int fd, err;

	if (sscanf(line, "%d %63s %7s", &fd, name, port) != 3)
		return -EINVAL;
	net = get_net_ns_by_fd(fd);
	if (IS_ERR(net))
		return PTR_ERR(net);
	err = inet_pton_with_scope(net, AF_UNSPEC, name, port, &addr) ?: start(net, &addr);
	put_net(net);
	return err;
}

static ssize_t listen_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char *line;
	int err = 0;

	if (len > 100)
		return -EINVAL;
	line = memdup_user_nul(from, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&lock);
	stop();
	if (len > 1)
		err = parse_and_start(line);
	if (err)
		stop();
	mutex_unlock(&lock);
	kfree(line);
	return err ?: len;
}

static const struct file_operations listen_fops = {
	.owner = THIS_MODULE,
	.write = listen_write,
};

static int __init echo_init(void)
{
	int err = iwt_echo_init();

	if (err)
		return err;
	dir = debugfs_create_dir("iwt_echo", NULL);
	if (IS_ERR(dir)) {
		iwt_echo_exit();
		return PTR_ERR(dir);
	}
	debugfs_create_file_unsafe("listen", 0200, dir, NULL, &listen_fops);
	return 0;
}

static void __exit echo_exit(void)
{
	debugfs_remove_recursive(dir);
	mutex_lock(&lock);
	stop();
	mutex_unlock(&lock);
	iwt_echo_exit();
}

module_init(echo_init);
module_exit(echo_exit);
MODULE_DESCRIPTION("A server in the kernel for a raw RDMA peer");
MODULE_LICENSE("GPL");
