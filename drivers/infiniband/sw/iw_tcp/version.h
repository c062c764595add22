/* SPDX-License-Identifier: GPL-2.0 */
/* The version of the module: modinfo shows it, and the devices report it as firmware version. */
#ifndef IWT_VERSION_H
#define IWT_VERSION_H

#include <linux/stringify.h>

#define IWT_VERSION_MAJOR	0
#define IWT_VERSION_MINOR	1
#define IWT_VERSION_PATCH	0

#define IWT_VERSION	__stringify(IWT_VERSION_MAJOR) "." \
			__stringify(IWT_VERSION_MINOR) "." \
			__stringify(IWT_VERSION_PATCH)

#endif
