/* SPDX-License-Identifier: GPL-2.0 */
/* iwt_memory: what the tests of regions that are not pinned share. */
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

/* Memory whose page faults wait for who reads @fd. Return: NULL without such page faults. */
uint8_t *odp_guarded(size_t len, int *fd);

/* Waits until a page fault is waited for, which the kernel tells. Return: its address. */
uintptr_t odp_next_fault(int fd);

/* A page whose octets are @what. Return: false if it can't be there. */
bool odp_serve(int fd, uint8_t *at, uint8_t what);

/*
 * Another program, which has this descriptor, too, and nothing else of this process, keeps the page
 * faults waiting when this process has gone.
 */
void odp_keep(int fd);
void test_odp_stuck(struct bench *b);

#endif
