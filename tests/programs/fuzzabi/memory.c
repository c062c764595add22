// SPDX-License-Identifier: GPL-2.0
/* Steps: a process changes its mappings, uses its descriptors, and forks. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzzabi.h"

/* Sets *@kind to the kind of the object that has the ring. */
static struct ring *some_ring(struct fuzz *f, enum kind *kind)
{
	struct ring *r;
	struct obj *o;

	*kind = iwt_chance(f, 60) ? QP : iwt_chance(f, 60) ? CQ : SRQ;
	o = iwt_pick(f, *kind, -1);
	r = o ? &o->ring[iwt_below(f, 2)] : NULL;

	return r && r->len && r->at ? r : NULL;
}

/* Selects a part of a ring, in whole pages. */
static void part(struct fuzz *f, const struct ring *r, void **at, size_t *len)
{
	uint32_t pages = r->len / PAGE, from = iwt_below(f, pages);

	if (iwt_chance(f, 50))
		from = 0;
	*at = r->at + from * PAGE;
	*len = (1 + iwt_below(f, pages - from)) * PAGE;
}

static int change(struct fuzz *f, struct ring *r)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_FREE, MADV_REMOVE, MADV_WILLNEED,
		MADV_HUGEPAGE, MADV_MERGEABLE, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_WRITE,
		MADV_WIPEONFORK,
	};
	void *at, *to;
	size_t len;

	part(f, r, &at, &len);
	switch (iwt_below(f, 7)) {
	case 0:
		return munmap(at, len);
	case 1:
		return mprotect(at, len, iwt_below(f, 8));
	case 2:
		/* to the addresses that are reserved for this ring or for another ring */
		to = (void *)(uintptr_t)(RINGS + iwt_below(f, RING_ROOMS) * RING_ROOM);
		return mremap(at, len, iwt_below(f, 2 * r->len / PAGE + 1) * PAGE,
			      MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED ? -1 : 0;
	case 3:
		return madvise(at, len, advice[iwt_below(f, sizeof(advice) / sizeof(advice[0]))]);
	case 4:
		return iwt_chance(f, 50) ? mlock(at, len) : munlock(at, len);
	case 5:
		return msync(at, len, MS_ASYNC);
	default:
		return remap_file_pages(at, len, 0, iwt_below(f, 4), 0);
	}
}

static void odd_mmap(struct fuzz *f)
{
	enum kind kind;
	struct ring *r = some_ring(f, &kind);
	uint64_t off = r ? r->off : 0, at = RINGS + iwt_below(f, RING_ROOMS) * RING_ROOM;
	size_t len = r ? r->len : PAGE;
	void *p;

	if (iwt_chance(f, 50))
		off = iwt_chance(f, 50) ? iwt_below(f, 64) * PAGE : iwt_value(f) & ~(PAGE - 1);
	if (iwt_chance(f, 50))
		len = (1 + iwt_below(f, RING_ROOM / PAGE)) * PAGE;
	p = mmap((void *)(uintptr_t)at, len, iwt_below(f, 8),
		 MAP_FIXED | (iwt_chance(f, 80) ? MAP_SHARED : MAP_PRIVATE),
		 f->w->ctx[iwt_below(f, CONTEXTS)], off);
	iwt_count(M_ODD_MMAP, p == MAP_FAILED ? errno : 0);
}

void iwt_op_maps(struct fuzz *f)
{
	enum kind kind;
	struct ring *r = some_ring(f, &kind);

	if (iwt_chance(f, 40))
		odd_mmap(f);
	else if (r)
		iwt_count(kind == SRQ ? M_CHANGE_SRQ : M_CHANGE, change(f, r) ? errno : 0);
}

/*
 * Maps the rings of all completion queues, queue pairs and shared receive queues again: earlier
 * steps may unmap rings.
 */
void iwt_op_remap(struct fuzz *f)
{
	static const enum kind kinds[] = { CQ, QP, SRQ };
	unsigned int k, i;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (i = 0; i < PER_KIND; i++) {
			struct obj *o = &f->w->obj[kinds[k]][i];

			if (!o->live)
				continue;
			iwt_map(f, o, 0);
			iwt_map(f, o, 1);
		}
	}
	if (iwt_chance(f, 20))
		iwt_odd_pages();
}

/* Uses descriptors of event channels and of the device. */
void iwt_op_files(struct fuzz *f)
{
	struct obj *o = iwt_pick(f, CHANNEL, -1);
	int fd = o ? (int)o->handle : f->w->ctx[iwt_below(f, CONTEXTS)], other = -1, ret = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	switch (iwt_below(f, 6)) {
	case 0:
	case 1:
		ret = read(fd, f->out, iwt_below(f, 64));
		break;
	case 2:
		ret = poll(&p, 1, 0);
		break;
	case 3:
		ret = other = dup(fd);
		break;
	case 4:
		ret = read(fd, (void *)(uintptr_t)iwt_pointer(f), 16);
		break;
	default:
		ret = fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC * iwt_below(f, 2));
	}
	iwt_count(M_FILES, ret < 0 ? errno : 0);
	if (other >= 0 && o && iwt_chance(f, 50))
		iwt_new(f, CHANNEL, o->ctx, other);
	else if (other >= 0)
		close(other);
}

/*
 * The child runs random steps like its parent, on the same descriptors and rings. (The kernel
 * accepts methods from a child, but not commands.)
 */
static void live(struct fuzz *f)
{
	int i;

	f->child = true;
	for (i = 0; i < 60; i++)
		iwt_guarded_step(f, iwt_step);
	_exit(0);
}

void iwt_op_fork(struct fuzz *f)
{
	uint64_t first = iwt_rnd(f);
	pid_t pid;
	int i;

	if (f->child)
		return;
	pid = fork();
	iwt_count(M_FORK, pid < 0 ? errno : 0);
	if (!pid) {
		f->rnd = first;
		live(f);
	}
	/* with one thread, wait for the child first, so that the round can be repeated exactly */
	if (pid > 0 && f->w->alone)
		waitpid(pid, NULL, 0);
	for (i = 0; i < 20 && pid > 0; i++) {
		iwt_op_send(f);
		iwt_op_poll(f);
	}
	if (pid > 0 && !f->w->alone)
		waitpid(pid, NULL, 0);
}
