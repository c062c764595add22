// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: the memory of the test. At the end of the client nobody refers to a page of it any
 * more: neither a region that pinned it nor a buffer of TCP that was sent by reference.
 *
 * The kernel tells of such references when a memory file is to be sealed against writing. The
 * server's memory is anonymous, with large pages where there are some.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "verify.h"

static int make_file(struct iwt_ctx *cx)
{
	void *at;

	cx->arena_fd = memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (cx->arena_fd < 0 || ftruncate(cx->arena_fd, cx->arena_len))
		return -1;
	at = mmap(NULL, cx->arena_len, PROT_READ | PROT_WRITE, MAP_SHARED, cx->arena_fd, 0);
	if (at == MAP_FAILED)
		return -1;
	cx->arena = at;
	return 0;
}

/* Makes cx->arena of cx->arena_len octets. */
int iwt_arena_make(struct iwt_ctx *cx)
{
	cx->arena_fd = -1;
	if (!cx->o.server)
		return make_file(cx);
	return posix_memalign((void **)&cx->arena, 4096, cx->arena_len) ? -1 : 0;
}

/* When there is neither a region nor a connection. TCP may keep what it has sent for some time. */
int iwt_arena_drop(struct iwt_ctx *cx)
{
	double end = iwt_now() + cx->o.timeout;

	if (cx->arena_fd < 0) {
		free(cx->arena);
		return 0;
	}
	if (munmap(cx->arena, cx->arena_len))
		return -1;
	while (fcntl(cx->arena_fd, F_ADD_SEALS, F_SEAL_WRITE)) {
		if (errno != EBUSY || iwt_now() > end) {
			fprintf(stderr, "# pages of the memory are referred to at the end: %s\n", strerror(errno));
			return -1;
		}
		usleep(10000);
	}
	close(cx->arena_fd);
	return 0;
}
