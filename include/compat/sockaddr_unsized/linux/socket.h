/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_SOCKET_H
#define COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>

#define sockaddr_unsized	sockaddr

#endif
