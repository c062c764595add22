// SPDX-License-Identifier: GPL-2.0
/* The user that a limit for users counts for. */
#include "user.h"

#include <linux/cred.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

/**
 * iwt_user_of_caller() - determine the user that the calling process counts for
 *
 * In a user namespace a user has many user IDs (subuid(5)). They all count for the user that has
 * created the namespace, so more user IDs do not raise a limit. The namespaces that root has
 * created are the exception: they are the containers of different users, so each user ID counts
 * for itself. Process context.
 *
 * Return: a user ID of the initial user namespace.
 */
uid_t iwt_user_of_caller(void)
{
	const struct user_namespace *ns;
	kuid_t user = current_uid();

	/* only init_user_ns has no parent; the owner of the outermost namespace wins */
	for (ns = current_user_ns(); ns->parent; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			user = ns->owner;
	return from_kuid(&init_user_ns, user);
}
