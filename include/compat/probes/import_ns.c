// SPDX-License-Identifier: GPL-2.0
/*
 * Older kernels convert the argument of MODULE_IMPORT_NS() to a string, although the argument is
 * a string already: then the result contains quotes, and is longer.
 */
#include <linux/build_bug.h>
#include <linux/module.h>

#undef MODULE_INFO
#define MODULE_INFO(tag, info)	\
	static_assert(sizeof(#tag info) == sizeof("import_nsNS"))

MODULE_IMPORT_NS("NS");
