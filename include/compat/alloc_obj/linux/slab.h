/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This kernel lacks kmalloc_obj(), kzalloc_obj(), kmalloc_objs(), kzalloc_objs(),
 * kvmalloc_objs(), kvzalloc_objs(), kmalloc_flex() and kzalloc_flex().
 */
#ifndef COMPAT_LINUX_SLAB_H
#define COMPAT_LINUX_SLAB_H

#include <linux/overflow.h>
#include_next <linux/slab.h>

/* The last argument of each of these macros is optional; its default is GFP_KERNEL. */
#define compat_gfp(none, gfp, ...)	((void)(none), gfp)
#define compat_default_gfp(...)		compat_gfp(0, ##__VA_ARGS__, GFP_KERNEL)

#define compat_alloc_objs(fn, type, n, ...)				\
	((typeof(type) *)fn(array_size(n, sizeof(typeof(type))),	\
			    compat_default_gfp(__VA_ARGS__)))
#define compat_alloc_flex(fn, type, fam, n, ...)			\
	((typeof(type) *)fn(struct_size((typeof(type) *)NULL, fam, n),	\
			    compat_default_gfp(__VA_ARGS__)))

#define kmalloc_obj(type, ...)						\
	compat_alloc_objs(kmalloc, type, 1, ##__VA_ARGS__)
#define kzalloc_obj(type, ...)						\
	compat_alloc_objs(kzalloc, type, 1, ##__VA_ARGS__)
#define kmalloc_objs(type, n, ...)					\
	compat_alloc_objs(kmalloc, type, n, ##__VA_ARGS__)
#define kzalloc_objs(type, n, ...)					\
	compat_alloc_objs(kzalloc, type, n, ##__VA_ARGS__)
#define kvmalloc_objs(type, n, ...)					\
	compat_alloc_objs(kvmalloc, type, n, ##__VA_ARGS__)
#define kvzalloc_objs(type, n, ...)					\
	compat_alloc_objs(kvzalloc, type, n, ##__VA_ARGS__)
#define kmalloc_flex(type, fam, n, ...)					\
	compat_alloc_flex(kmalloc, type, fam, n, ##__VA_ARGS__)
#define kzalloc_flex(type, fam, n, ...)					\
	compat_alloc_flex(kzalloc, type, fam, n, ##__VA_ARGS__)

#endif
