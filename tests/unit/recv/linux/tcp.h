/* SPDX-License-Identifier: GPL-2.0 */
/* Empty: sock.h has what sock_recv.c uses. */
