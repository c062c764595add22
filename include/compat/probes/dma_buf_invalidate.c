// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-buf.h>

static void probe(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops probe_ops __maybe_unused = {
	.invalidate_mappings = probe,
};
