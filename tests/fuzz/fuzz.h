/* SPDX-License-Identifier: GPL-2.0 */
/* Helper functions that all fuzz targets use. */
#ifndef IWT_FUZZ_H
#define IWT_FUZZ_H

#include <linux/string.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Unlike assert(), this macro prints both values. */
#define SAME(got, want)							\
	do {								\
		unsigned long long fuzz_a = (got), fuzz_b = (want);	\
									\
		if (fuzz_a != fuzz_b) {					\
			fprintf(stderr, "%s:%d: %s is 0x%llx, %s is 0x%llx\n", \
				__FILE__, __LINE__, #got, fuzz_a, #want, \
				fuzz_b);				\
			abort();					\
		}							\
	} while (0)

#define MUST(x)								\
	do {								\
		if (!(x)) {						\
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #x);				\
			abort();					\
		}							\
	} while (0)

/* The fuzzer's input. take() reads it from the front; after its end, take() returns zeros. */
struct input {
	const u8 *p;
	size_t left;
};

static inline u64 take(struct input *in, u32 octets)
{
	u64 v = 0;

	while (octets--) {
		v = v << 8 | (in->left ? *in->p : 0);
		if (in->left) {
			in->p++;
			in->left--;
		}
	}
	return v;
}

/* Copies octets into an allocation of exactly the same size. */
static inline u8 *exact(const u8 *from, size_t len)
{
	u8 *p = malloc(len);

	if (len)
		memcpy(p, from, len);
	return p;
}

#endif
