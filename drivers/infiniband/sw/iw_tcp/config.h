/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a link, and the module parameters that are their defaults. */
#ifndef IWT_CONFIG_H
#define IWT_CONFIG_H

#include <linux/types.h>

/**
 * struct iwt_conf - settings of a link, fixed when it is made
 * @crc: ask the peer for CRC32c (RFC 5044 4.4: on unless the administrator
 *	declines it; the peer's wish still counts)
 */
struct iwt_conf {
	bool crc;
};

void iwt_conf_defaults(struct iwt_conf *conf);

#endif
