/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_DISCONNECT_H
#define COMPAT_DISCONNECT_H

/* TCP always disconnects a socket, even if a thread sleeps on the socket. */
#define compat_disconnects	true

#endif
