/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_UNALIGNED_H
#define IWT_SHIM_UNALIGNED_H

#include <linux/types.h>
#include <asm/byteorder.h>

struct iwt_una16 { u16 x; } __packed;
struct iwt_una32 { u32 x; } __packed;
struct iwt_una64 { u64 x; } __packed;

#define IWT_SHIM_GET(bits, end)						\
static inline u##bits get_unaligned_##end##bits(const void *p)		\
{									\
	return end##bits##_to_cpu(((const struct iwt_una##bits *)p)->x); \
}
#define IWT_SHIM_PUT(bits, end)						\
static inline void put_unaligned_##end##bits(u##bits v, void *p)	\
{									\
	((struct iwt_una##bits *)p)->x = cpu_to_##end##bits(v);	\
}

IWT_SHIM_GET(16, be)
IWT_SHIM_GET(32, be)
IWT_SHIM_GET(64, be)
IWT_SHIM_GET(32, le)
IWT_SHIM_PUT(16, be)
IWT_SHIM_PUT(32, be)
IWT_SHIM_PUT(64, be)
IWT_SHIM_PUT(32, le)

#endif
