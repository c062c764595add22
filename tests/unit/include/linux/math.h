/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_MATH_H
#define IWT_SHIM_MATH_H

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))((y) - 1))) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))((y) - 1)))

#endif
