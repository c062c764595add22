/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_COMPILER_H
#define IWT_SHIM_COMPILER_H

#define noinline	__attribute__((__noinline__))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))

#endif
