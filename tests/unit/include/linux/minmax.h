/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_MINMAX_H
#define IWT_SHIM_MINMAX_H

/* Like the macros of older kernels, these evaluate arguments once and refuse mixed types. */
#define min(a, b) ({ __auto_type iwt_a = (a); __auto_type iwt_b = (b);	\
	_Static_assert(__builtin_types_compatible_p(__typeof__(iwt_a),		\
						    __typeof__(iwt_b)), "min"); \
	iwt_a < iwt_b ? iwt_a : iwt_b; })
#define max(a, b) ({ __auto_type iwt_a = (a); __auto_type iwt_b = (b);	\
	_Static_assert(__builtin_types_compatible_p(__typeof__(iwt_a),		\
						    __typeof__(iwt_b)), "max"); \
	iwt_a > iwt_b ? iwt_a : iwt_b; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)

#endif
