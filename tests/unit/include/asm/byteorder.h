/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_BYTEORDER_H
#define IWT_SHIM_BYTEORDER_H

#include <endian.h>

#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define cpu_to_le32(x)	htole32(x)
#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)
#define le32_to_cpu(x)	le32toh(x)

#endif
