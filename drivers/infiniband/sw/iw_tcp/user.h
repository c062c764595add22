/* SPDX-License-Identifier: GPL-2.0 */
/* The user that a limit for users counts for. */
#ifndef IWT_USER_H
#define IWT_USER_H

#include <linux/types.h>

uid_t iwt_user_of_caller(void);

#endif
