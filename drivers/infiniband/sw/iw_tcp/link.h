/* SPDX-License-Identifier: GPL-2.0 */
/* Links: `rdma link add` creates devices, and each device follows its net device. */
#ifndef IWT_LINK_H
#define IWT_LINK_H

int iwt_link_init(void);
void iwt_link_exit(void);

#endif
