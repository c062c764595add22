// SPDX-License-Identifier: GPL-2.0
/* Older kernels make a string of what is one already, with quotes in it. */
#include <linux/module.h>

#undef MODULE_INFO
#define MODULE_INFO(tag, info)	_Static_assert(sizeof(info) == sizeof("NS"), "")

MODULE_IMPORT_NS("NS");
