/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the parts of this module share. */
#ifndef IWT_HELD_H
#define IWT_HELD_H

#include <linux/types.h>

struct sock;
struct socket;

/* owner.c */
int iwt_held_hold(struct sock *sk, bool pulse);
int iwt_held_ambush(struct sock *sk, bool bounded);
bool iwt_held_caught(void);
void iwt_held_let_go(void);

/* call.c */
int iwt_held_begin(struct socket *sock);
void iwt_held_forget(void);
int iwt_held_go_on(const char *call);

/* blind.c */
int iwt_held_blind(u16 port);
void iwt_held_see(void);

#endif
