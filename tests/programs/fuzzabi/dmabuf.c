// SPDX-License-Identifier: GPL-2.0
/* Steps: regions of dma-bufs, if the module iwt_dmabuf is loaded. */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "../../modules/iwt_dmabuf/iwt_dmabuf.h"
#include "fuzzabi.h"

static int exporter(void)
{
	return open("/dev/iwt_dmabuf", O_RDWR | O_CLOEXEC);
}

static void register_it(struct fuzz *f, struct obj *pd, int fd)
{
	uint64_t off = iwt_below(f, 4) * PAGE + (iwt_chance(f, 30) ? iwt_below(f, PAGE) : 0);
	uint64_t len = PAGE + iwt_below(f, 3 * PAGE), iova = DATA + off;
	uint32_t access = iwt_chance(f, 70) ? 15 : iwt_below(f, 16);
	struct ib_uverbs_attr *handle;
	struct obj *mr;
	struct call c;

	iwt_call(&c, I_REG_DMABUF, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	handle = iwt_handle(&c, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	iwt_out(&c, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, f->out, 4);
	iwt_out(&c, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, f->out + 8, 4);
	iwt_handle(&c, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd->handle);
	iwt_in(&c, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &off, sizeof(off));
	iwt_in(&c, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &len, sizeof(len));
	iwt_in(&c, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &iova, sizeof(iova));
	iwt_handle(&c, UVERBS_ATTR_REG_DMABUF_MR_FD, fd);
	iwt_in(&c, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access, sizeof(access));
	if (iwt_send(f, iwt_fd(f->w, pd), &c))
		return;
	mr = iwt_new(f, MR, pd->ctx, handle->data);
	memcpy(&mr->num, f->out, 4);
	mr->pd = pd->handle;
	mr->addr = iova;
	mr->bytes = len;
}

/*
 * Registers a dma-buf, may revoke the dma-buf at once or after a moment, and closes its
 * descriptor.
 */
void iwt_op_dmabuf(struct fuzz *f)
{
	struct iwt_dmabuf_make m = { .size = (4 + iwt_below(f, 4)) * PAGE };
	struct obj *pd = iwt_some_pd(f);
	int dev = exporter();

	if (iwt_chance(f, 60))
		m.flags = IWT_DMABUF_MOVES;
	m.flags |= iwt_chance(f, 30) ? 1u << iwt_below(f, 6) : 0;
	if (dev < 0 || !pd || ioctl(dev, IWT_DMABUF_MAKE, &m)) {
		close(dev);
		return;
	}
	register_it(f, pd, m.fd);
	if (iwt_chance(f, 30))
		usleep(iwt_below(f, 2000));
	if (m.flags & IWT_DMABUF_MOVES && iwt_chance(f, 50))
		ioctl(dev, IWT_DMABUF_REVOKE, &m.fd);
	close(m.fd);
	close(dev);
}
