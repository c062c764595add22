/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_DISCONNECT_H
#define COMPAT_DISCONNECT_H

/*
 * In this kernel, tcp_disconnect() may fail while a thread sleeps on the socket. Then the caller
 * has to wake the thread and retry.
 */
#define compat_disconnects	false

#endif
