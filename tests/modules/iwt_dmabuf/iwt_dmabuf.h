/* SPDX-License-Identifier: GPL-2.0 */
/* The interface of the device /dev/iwt_dmabuf, for the module and for programs. */
#ifndef IWT_DMABUF_H
#define IWT_DMABUF_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Properties of a buffer */
#define IWT_DMABUF_LINEAR	1	/* the buffer is in the kernel's linear mapping */
#define IWT_DMABUF_NO_VMAP	2	/* importers cannot map the buffer for the CPU */
#define IWT_DMABUF_IOMEM	4	/* vmap() describes the buffer as memory of a device */
#define IWT_DMABUF_MOVES	8	/* must be pinned; the first pin reports a move */
#define IWT_DMABUF_READ_ONLY	16	/* the descriptor is open for reading only */
#define IWT_DMABUF_BUSY		32	/* begin_cpu_access() fails with -EBUSY */

struct iwt_dmabuf_make {
	__u64 size;
	__u32 flags;
	__u32 fd;	/* receives the descriptor of the dma-buf */
};

/*
 * How the importers use the buffer @fd now. The exporter fills in the numbers of attachments,
 * pins, mappings and CPU accesses that have not ended.
 */
struct iwt_dmabuf_use {
	__u32 fd;
	__u32 attached;
	__u32 pinned;
	__u32 mapped;
	__u32 accessed;
	__u32 touched;	/* bytes changed since the revocation; 0 if not revoked */
};

#define IWT_DMABUF_MAKE		_IOWR('w', 0x70, struct iwt_dmabuf_make)
#define IWT_DMABUF_USE		_IOWR('w', 0x71, struct iwt_dmabuf_use)
#define IWT_DMABUF_REVOKE	_IOW('w', 0x72, __u32)

#endif
