/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_SHRINKER_H
#define COMPAT_LINUX_SHRINKER_H

#include_next <linux/shrinker.h>
#include <linux/slab.h>

/*
 * This kernel lacks shrinker_alloc(), shrinker_register() and shrinker_free(). The name of a
 * shrinker is an argument of register_shrinker(), so store the name until then.
 */
struct compat_shrinker {
	struct shrinker shrinker;
	const char *name;
};

/* @name must be a literal: only the pointer is stored. */
static inline struct shrinker *shrinker_alloc(unsigned int flags,
					      const char *name)
{
	struct compat_shrinker *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->shrinker.flags = flags;
	c->shrinker.seeks = DEFAULT_SEEKS;
	c->name = name;
	return &c->shrinker;
}

/* If memory is missing, the shrinker is not registered; unregister_shrinker() permits that. */
static inline void shrinker_register(struct shrinker *s)
{
	struct compat_shrinker *c = container_of(s, struct compat_shrinker,
						 shrinker);

	if (register_shrinker(s, "%s", c->name))
		pr_debug("no shrinker %s\n", c->name);
}

static inline void shrinker_free(struct shrinker *s)
{
	unregister_shrinker(s);
	kfree(container_of(s, struct compat_shrinker, shrinker));
}

#endif
