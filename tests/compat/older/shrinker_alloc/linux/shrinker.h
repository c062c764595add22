/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_SHRINKER_H
#define OLDER_LINUX_SHRINKER_H
#define shrinker_alloc newer_shrinker_alloc
#define shrinker_register newer_shrinker_register
#define shrinker_free newer_shrinker_free
#include_next <linux/shrinker.h>
#undef shrinker_alloc
#undef shrinker_register
#undef shrinker_free
int register_shrinker(struct shrinker *s, const char *fmt, ...);
void unregister_shrinker(struct shrinker *s);
#endif
