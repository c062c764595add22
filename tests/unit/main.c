// SPDX-License-Identifier: GPL-2.0
/* Runs all unit tests; looks up test vectors, and makes pseudo-random numbers. */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "vectors.inc"

const struct vector *vector_find(const char *id)
{
	u32 i;

	for (i = 0; i < vector_count; i++) {
		if (!strcmp(vectors[i].id, id))
			return &vectors[i];
	}
	fprintf(stderr, "no vector %s\n", id);
	abort();
}

u32 unhex(const char *hex, u8 *out)
{
	unsigned int octet;
	u32 n = 0;

	while (sscanf(hex, "%2x", &octet) == 1) {
		out[n++] = octet;
		hex += 2;
	}
	return n;
}

u32 any(void)
{
	static u64 state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

int main(void)
{
	test_crc();
	test_cursor();
	test_sock_cursor();
	test_sock_recv();
	test_mpa_frame();
	test_mpa_terms();
	test_direct();
	test_ddp();
	test_rdmap();
	test_atomic();
	test_term();
	test_fpdu_vectors();
	test_fpdu();
	test_fpdu_follow();
	test_rx_alike();
	test_rx_place();
	test_txseg();
	test_marker();
	test_ahead();
	test_access();
	test_qpfsm();
#ifdef HAVE_CMFSM
	test_cmfsm();
#endif
	test_counter();
	test_mw();
	test_gid();
	test_habit();
	test_fair();
	return tap_plan();
}
