/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_BUILD_BUG_H
#define IWT_SHIM_BUILD_BUG_H

#define IWT_SHIM_ASSERT(x, msg, ...)	_Static_assert(x, msg)
#undef static_assert
#define static_assert(x, ...)	IWT_SHIM_ASSERT(x, ##__VA_ARGS__, #x)
#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)

#endif
