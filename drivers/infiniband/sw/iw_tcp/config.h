/* SPDX-License-Identifier: GPL-2.0 */
/* The interfaces to the settings of links: configfs and module parameters. */
#ifndef IWT_CONFIG_H
#define IWT_CONFIG_H

struct iwt_conf;

void iwt_conf_defaults(struct iwt_conf *conf);
int iwt_conf_init(void);
void iwt_conf_exit(void);

#endif
