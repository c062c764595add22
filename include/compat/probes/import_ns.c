// SPDX-License-Identifier: GPL-2.0
/*
 * Older kernels convert the argument to a string, although it is a string: the result has quotes.
 */
#include <linux/build_bug.h>
#include <linux/module.h>

#undef MODULE_INFO
#define MODULE_INFO(tag, info)	\
	static_assert(sizeof(#tag info) == sizeof("import_nsNS"))

MODULE_IMPORT_NS("NS");
