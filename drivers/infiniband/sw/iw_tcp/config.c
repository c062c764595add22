// SPDX-License-Identifier: GPL-2.0
/* Settings of a link, and the module parameters that are their defaults. */
#include "config.h"

#include <linux/module.h>

static bool crc = true;
module_param(crc, bool, 0644);
MODULE_PARM_DESC(crc, "New links ask for CRC32c: on (default) or off");

/**
 * iwt_conf_defaults() - settings of a new link
 * @conf: filled in
 *
 * Any context. Later changes of the parameters are for later links.
 */
void iwt_conf_defaults(struct iwt_conf *conf)
{
	conf->crc = READ_ONCE(crc);
}
