/* SPDX-License-Identifier: GPL-2.0 */
/* This kernel lacks struct sockaddr_unsized: kernel_bind() etc. take a struct sockaddr. */
#ifndef COMPAT_LINUX_SOCKET_H
#define COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>

#define sockaddr_unsized	sockaddr

#endif
