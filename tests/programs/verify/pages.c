// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: the memory of the test. When the client ends, nothing in the kernel may refer to a
 * page of this memory any more: neither a region that has pinned the page, nor TCP, which sends
 * pages by reference (zero copy).
 *
 * The memory of the client is a file (memfd): while the kernel refers to a page of the file, it
 * refuses to seal the file against writing. The memory of the server is anonymous, so that it may
 * consist of large pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "patience.h"
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

/* Allocates cx->arena of cx->arena_len bytes. Return: 0 or -1 */
int iwt_arena_make(struct iwt_ctx *cx)
{
	cx->arena_fd = -1;
	if (!cx->o.server)
		return make_file(cx);
	return posix_memalign((void **)&cx->arena, 4096, cx->arena_len) ? -1 : 0;
}

/*
 * Frees the arena. The caller has ended all connections and deregistered all regions. Waits for
 * TCP, which may keep references to sent pages for some time. Return: 0, or -1 if references
 * remain
 */
int iwt_arena_drop(struct iwt_ctx *cx)
{
	struct patience p = {};

	if (cx->arena_fd < 0) {
		free(cx->arena);
		return 0;
	}
	if (munmap(cx->arena, cx->arena_len))
		return -1;
	while (fcntl(cx->arena_fd, F_ADD_SEALS, F_SEAL_WRITE)) {
		if (errno != EBUSY || !patient(&p, cx->o.timeout, 0)) {
			fprintf(stderr, "# pages of the memory are referred to at the end: %s\n", strerror(errno));
			return -1;
		}
		usleep(10000);
	}
	close(cx->arena_fd);
	return 0;
}
