/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks between threads, for fair_test.c. The reader-writer lock behaves as the kernel's lock does
 * with bottom halves off: a reader passes writers that wait.
 */
#ifndef UNIT_FAIR_SPINLOCK_H
#define UNIT_FAIR_SPINLOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#define __no_context_analysis
#define __acquires(l)
#define __releases(l)
#define __acquire(l)	((void)0)
#define __release(l)	((void)0)
#define unlikely(x)	(x)
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	((void)(*(volatile __typeof__(x) *)&(x) = (v)))

typedef struct { atomic_uint next, now; } spinlock_t;
typedef struct { atomic_int users; } rwlock_t;	/* number of readers, or -1: a writer */

#define spin_lock_init(l)	((void)(*(l) = (spinlock_t){}))
#define rwlock_init(l)		((void)(*(l) = (rwlock_t){}))
#define spin_lock_bh		spin_lock
#define spin_unlock_bh		spin_unlock
#define read_unlock_bh		read_unlock

/* fair_test.c */
void spin_lock(spinlock_t *l);
void spin_unlock(spinlock_t *l);
void read_lock(rwlock_t *l);
void read_unlock(rwlock_t *l);
void write_lock(rwlock_t *l);
void write_unlock(rwlock_t *l);

#endif
