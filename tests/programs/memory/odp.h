/* SPDX-License-Identifier: GPL-2.0 */
/* iwt_memory: declarations that the tests of on-demand paging share. */
#ifndef MEMORY_ODP_H
#define MEMORY_ODP_H

#include "memory.h"

#define WRITABLE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define ALL_ACCESS	(WRITABLE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define ODP		IBV_ACCESS_ON_DEMAND

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/* odp.c */
uint8_t *map(size_t len, int prot, int flags, int fd);
uint8_t *anonymous(size_t len);
struct ibv_mr *reg(struct bench *b, void *at, size_t len, int access);
void must(bool *good, bool is, const char *what);

/* odp_model.c */
void test_odp_model(struct bench *b, uint32_t rounds);

/* odp_huge.c */
void test_odp_huge(struct bench *b, uint32_t rounds);

/* odp_race.c */
void test_odp_races(struct bench *b, uint32_t rounds);

/* odp_stuck.c */

/*
 * Maps memory whose page faults wait until odp_serve() (userfaultfd(2)). @fd: receives the
 * descriptor of the userfaultfd. Return: the address, or NULL if the kernel has no userfaultfd
 */
uint8_t *odp_guarded(size_t len, int *fd);

/* Waits until the kernel reports a page fault on @fd. Return: the address of the fault */
uintptr_t odp_next_fault(int fd);

/*
 * Ends a page fault at @at: provides a page of bytes with the value @what. Return: false on
 * failure
 */
bool odp_serve(int fd, uint8_t *at, uint8_t what);

/*
 * Starts another program that inherits @fd, but no memory of this process. While that program
 * runs, the page faults continue to wait, even after this process has ended.
 */
void odp_keep(int fd);
void test_odp_stuck(struct bench *b);

#endif
