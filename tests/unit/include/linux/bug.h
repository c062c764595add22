/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_BUG_H
#define IWT_SHIM_BUG_H

#define WARN_ON_ONCE(x)	(x)

#endif
