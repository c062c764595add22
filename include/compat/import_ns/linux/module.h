/* SPDX-License-Identifier: GPL-2.0 */
/* In this kernel MODULE_IMPORT_NS() adds quotes to its argument, which already is a string. */
#ifndef COMPAT_IMPORT_NS_H
#define COMPAT_IMPORT_NS_H

#include_next <linux/module.h>

#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)

#endif
