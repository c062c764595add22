/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_COMPILER_H
#define IWT_SHIM_COMPILER_H

#define noinline	__attribute__((__noinline__))

#endif
