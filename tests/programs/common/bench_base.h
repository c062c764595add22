/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that iwt_bench and iwt_tcpref share: clocks, the timer, quantiles, the address and
 * the line with the result. So the figures of both programs can be compared. Any failure ends the
 * program with a message that begins with the program's name.
 */
#ifndef BENCH_BASE_H
#define BENCH_BASE_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#define BENCH_SAMPLES	(1u << 20)

struct bench_result {
	uint64_t messages;
	uint64_t octets;
	uint64_t ns;
	uint64_t idle_ns;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t p999_ns;
};

extern volatile bool bench_stop;
void bench_die(const char *what);
uint64_t bench_now(void);
void bench_sleep_until(uint64_t ns);
uint64_t bench_idle(bool wanted);
void bench_idle_from(const char *path);
void bench_begin(struct bench_result *r, bool idle);
void bench_end(struct bench_result *r, bool idle);
void bench_timer(unsigned int ms);
struct addrinfo *bench_address(const char *addr, const char *port);
uint64_t *bench_samples(void);
void bench_quantiles(struct bench_result *r, uint64_t *sample, double ns);
int64_t bench_sum(const char *path, int64_t (*worth)(const char *line));
uint64_t bench_kernel_memory(void);
void bench_print(const struct bench_result *r);

#endif
