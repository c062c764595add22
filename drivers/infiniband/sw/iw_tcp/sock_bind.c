// SPDX-License-Identifier: GPL-2.0
/* The local address and port of a socket. */
#include <linux/sockptr.h>
#include <net/sock.h>

#include "sock.h"
#include "sock_priv.h"

static int set_ip(struct socket *sock, int option, u32 value)
{
	return sock_common_setsockopt(sock, SOL_IP, option,
				      KERNEL_SOCKPTR(&value), sizeof(value));
}

/*
 * Make connect(2), not bind(2), choose the local port. connect(2) knows the destination, so it
 * can choose a port that has connections to other destinations. If @port (in host byte order) is
 * not 0, connect(2) can choose only this port. Return: 0 or -errno.
 */
static int set_late(struct socket *sock, u16 port)
{
	int err = set_ip(sock, IP_BIND_ADDRESS_NO_PORT, 1);

	if (err || !port)
		return err;
	return set_ip(sock, IP_LOCAL_PORT_RANGE, (u32)port << 16 | port);
}

/**
 * iwt_sock_bind() - bind a socket to its local address
 * @sock: socket
 * @addr: addresses and options
 *
 * Process context, may sleep.
 *
 * Return: 0; -ENOPROTOOPT if @addr->late and @addr->late_port are set, but the kernel can't
 * restrict the choice to one port; or another error of bind(2).
 */
int iwt_sock_bind(struct socket *sock, const struct iwt_sock_addr *addr)
{
	struct sockaddr_storage local = addr->local;
	int err;

	if (addr->late) {
		err = set_late(sock, addr->late_port);
		if (err)
			return err;
	}
	return kernel_bind(sock, (struct sockaddr_unsized *)&local,
			   iwt_sock_addr_len(&local));
}
