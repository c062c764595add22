/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_CONTAINER_OF_H
#define IWT_SHIM_CONTAINER_OF_H

#include <stddef.h>

#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

#endif
