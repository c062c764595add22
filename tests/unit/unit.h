/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that all unit tests share. */
#ifndef IWT_UNIT_H
#define IWT_UNIT_H

#include <linux/string.h>
#include <linux/types.h>

#include "tap.h"

struct vector {
	const char *id;
	const char *desc;
	const u8 *octets;
	u32 len;
	u32 pos;	/* stream position, if the stream has markers */
	bool markers;
};

extern const struct vector vectors[];
extern const u32 vector_count;

const struct vector *vector_find(const char *id);
/* Converts hexadecimal digits to octets. Return: number of octets */
u32 unhex(const char *hex, u8 *out);
/* Return: a pseudo-random number; the sequence is the same in every run */
u32 any(void);

void test_crc(void);
void test_cursor(void);
void test_sock_cursor(void);
void test_sock_recv(void);
void test_mpa_frame(void);
void test_mpa_terms(void);
void test_direct(void);
void test_ddp(void);
void test_rdmap(void);
void test_atomic(void);
void test_term(void);
void test_fpdu_vectors(void);
void test_fpdu(void);
void test_fpdu_follow(void);
void test_rx_alike(void);
void test_rx_place(void);
void test_txseg(void);
void test_marker(void);
void test_ahead(void);
void test_access(void);
void test_qpfsm(void);
void test_cmfsm(void);
void test_counter(void);
void test_mw(void);
void test_gid(void);
void test_habit(void);
void test_fair(void);

#endif
