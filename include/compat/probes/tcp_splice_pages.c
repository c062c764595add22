// SPDX-License-Identifier: GPL-2.0
/*
 * TCP supports MSG_SPLICE_PAGES in newer kernels, in which TCP has no operation sendpage. If TCP
 * has this operation, the declaration below conflicts with the declaration of the kernel. A test
 * for the flag would not suffice: some older stable kernels define MSG_SPLICE_PAGES, but their
 * TCP ignores the flag.
 */
#include <net/tcp.h>

void *tcp_sendpage_locked(void);
