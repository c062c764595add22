/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's types for user space builds of the protocol layer. */
#ifndef IWT_SHIM_TYPES_H
#define IWT_SHIM_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u32 __le32;

#define __packed	__attribute__((packed))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define __aligned(n)	__attribute__((aligned(n)))
#define fallthrough	__attribute__((fallthrough))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define BIT(n)		(1UL << (n))

#endif
