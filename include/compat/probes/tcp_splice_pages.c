// SPDX-License-Identifier: GPL-2.0
/*
 * TCP obeys MSG_SPLICE_PAGES since it lost its sendpage operation, which a
 * conflicting declaration finds. Stable kernels define the flag before.
 */
#include <net/tcp.h>

void *tcp_sendpage_locked(void);
