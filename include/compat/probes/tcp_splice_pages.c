// SPDX-License-Identifier: GPL-2.0
/*
 * TCP supports MSG_SPLICE_PAGES in kernels whose TCP has no sendpage operation
 * any more. If TCP has the operation, the declaration below conflicts with the
 * kernel's. Some older stable kernels define the flag, but TCP ignores it
 * there.
 */
#include <net/tcp.h>

void *tcp_sendpage_locked(void);
