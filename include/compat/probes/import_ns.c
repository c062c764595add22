// SPDX-License-Identifier: GPL-2.0
/* Older kernels make a string of what is one already, with quotes in it. */
#include <linux/build_bug.h>
#include <linux/module.h>

#undef MODULE_INFO
#define MODULE_INFO(tag, info)	\
	static_assert(sizeof(#tag info) == sizeof("import_nsNS"))

MODULE_IMPORT_NS("NS");
