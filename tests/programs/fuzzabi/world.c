// SPDX-License-Identifier: GPL-2.0
/* The memory, contexts and objects of a process of the fuzzer. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "fuzzabi.h"

/* Returns a random object of context @ctx (-1: of any context), or NULL. */
struct obj *iwt_pick(struct fuzz *f, enum kind k, int ctx)
{
	struct obj *all = f->w->obj[k];
	uint32_t i, at = iwt_below(f, PER_KIND);

	for (i = 0; i < PER_KIND; i++) {
		struct obj *o = &all[(at + i) % PER_KIND];

		if (o->live && (ctx < 0 || o->ctx == ctx))
			return o;
	}
	return NULL;
}

/* Finds a place for a new object. If no place is free, destroys another object. */
struct obj *iwt_new(struct fuzz *f, enum kind k, int ctx, uint32_t handle)
{
	struct obj *all = f->w->obj[k], *o = NULL;
	int i;

	for (i = 0; i < PER_KIND && !o; i++)
		if (!all[i].live)
			o = &all[i];
	if (!o) {
		o = &all[iwt_below(f, PER_KIND)];
		iwt_destroy(f, k, o);
	}
	memset(o, 0, sizeof(*o));
	o->ctx = ctx;
	o->handle = handle;
	o->live = true;
	return o;
}

int iwt_fd(const struct world *w, const struct obj *o)
{
	return w->ctx[o->ctx];
}

/* Returns the address that is reserved for ring @which of @o. */
static uint64_t room(const struct world *w, const struct obj *o, int which)
{
	int n = o - w->obj[CQ];

	/* first the completion queues, then two rings of each queue pair, then the SRQs */
	if (o >= w->obj[QP] && o < w->obj[QP] + PER_KIND)
		n = PER_KIND + 2 * (o - w->obj[QP]) + which;
	if (o >= w->obj[SRQ] && o < w->obj[SRQ] + PER_KIND)
		n = 3 * PER_KIND + (o - w->obj[SRQ]);
	return RINGS + n * RING_ROOM;
}

void iwt_map_at(struct fuzz *f, struct obj *o, int which, uint64_t at)
{
	struct ring *r = &o->ring[which];
	void *p;

	if (!r->len || r->len > RING_ROOM || !r->entries)
		return;
	p = mmap((void *)(uintptr_t)at, r->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, iwt_fd(f->w, o), r->off);
	iwt_count(M_MMAP, p == MAP_FAILED ? errno : 0);
	r->at = p == MAP_FAILED ? NULL : p;
}

void iwt_map(struct fuzz *f, struct obj *o, int which)
{
	iwt_map_at(f, o, which, room(f->w, o, which));
}

static void device_path(const char *device, char *path, size_t len)
{
	DIR *d = opendir("/sys/class/infiniband_verbs");
	struct dirent *e;
	char name[400] = "";
	FILE *s;

	path[0] = 0;
	while (d && (e = readdir(d))) {
		snprintf(name, sizeof(name), "/sys/class/infiniband_verbs/%s/ibdev", e->d_name);
		s = fopen(name, "r");
		if (!s)
			continue;
		if (fscanf(s, "%63s", name) == 1 && !strcmp(name, device))
			snprintf(path, len, "/dev/infiniband/%s", e->d_name);
		fclose(s);
	}
	if (d)
		closedir(d);
}

static bool get_context(struct fuzz *f, int fd)
{
	static const struct ib_uverbs_get_context core;
	struct iwt_uctx_req private = {
		.features = IWT_FEATURE_RFC7306 | IWT_FEATURE_WINDOWS |
			    (iwt_chance(f, 50) ? IWT_FEATURE_DEFERRED : 0) |
			    (iwt_chance(f, 50) ? IWT_FEATURE_SRQ_DOORBELL : 0),
	};
	struct command c = {
		W_GET_CONTEXT, IB_USER_VERBS_CMD_GET_CONTEXT, false, &core, &private,
		sizeof(core), sizeof(struct ib_uverbs_get_context_resp), sizeof(private),
		sizeof(struct iwt_uctx_resp),
	};
	struct ib_uverbs_get_context_resp *answer = (void *)f->out;

	if (iwt_command(f, fd, &c))
		return false;
	fcntl(answer->async_fd, F_SETFL, O_NONBLOCK);
	iwt_new(f, CHANNEL, -1, answer->async_fd);
	return true;
}

static bool get_context_by_method(struct fuzz *f, int fd)
{
	uint64_t features = IWT_FEATURE_RFC7306;
	uint32_t vectors;
	struct call c;

	iwt_call(&c, I_GET_CONTEXT, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	iwt_out(&c, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, f->out, sizeof(vectors));
	iwt_out(&c, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, f->out + 8, 8);
	iwt_in(&c, UVERBS_ATTR_UHW_IN, &features, sizeof(features));
	iwt_out(&c, UVERBS_ATTR_UHW_OUT, f->out + 16, sizeof(struct iwt_uctx_resp));
	return !iwt_send(f, fd, &c);
}

/*
 * Opens context @n. If the descriptor is opened and GET_CONTEXT fails, the descriptor stays open.
 * Return: true if both succeeded.
 */
bool iwt_open(struct fuzz *f, int n)
{
	char path[300];
	int fd;

	device_path(f->w->device, path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	f->w->ctx[n] = fd;
	return iwt_chance(f, 30) ? get_context_by_method(f, fd) : get_context(f, fd);
}

static void *fixed(uint64_t at, size_t len, int prot, int fd)
{
	return mmap((void *)(uintptr_t)at, len, prot, MAP_FIXED |
		    (fd < 0 ? MAP_ANONYMOUS | MAP_PRIVATE : MAP_SHARED), fd, 0);
}

/*
 * Creates the pages ODD. Some of them are read-only, write-only, inaccessible, unmapped, or
 * beyond the end of a file.
 */
void iwt_odd_pages(void)
{
	int file = memfd_create("short", 0);

	munmap((void *)ODD, ODD_PAGES * PAGE);
	fixed(ODD, PAGE, PROT_READ | PROT_WRITE, -1);
	/* page 1 is not mapped */
	fixed(ODD + 2 * PAGE, PAGE, PROT_READ, -1);
	fixed(ODD + 3 * PAGE, PAGE, PROT_NONE, -1);
	fixed(ODD + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE, -1);
	/* the file of pages 5 and 6 ends in page 5 */
	if (file >= 0 && !ftruncate(file, 100))
		fixed(ODD + 5 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, file);
	fixed(ODD + 7 * PAGE, PAGE, PROT_WRITE, -1);
	close(file);
}

static bool make_listener(struct world *w)
{
	socklen_t len = sizeof(w->address);

	w->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	return w->listener >= 0 &&
	       !bind(w->listener, (struct sockaddr *)&w->address, sizeof(w->address)) &&
	       !listen(w->listener, 8) &&
	       !getsockname(w->listener, (struct sockaddr *)&w->address, &len);
}

/* Creates the first objects, without mutations. Return: false if a necessary call fails. */
bool iwt_begin(struct fuzz *f)
{
	struct world *w = f->w;
	int i;

	if (!make_listener(w))
		return false;
	for (i = 0; i < CONTEXTS - 1; i++)
		if (!iwt_open(f, i))
			return false;
	w->ctx[CONTEXTS - 1] = w->ctx[0];
	iwt_op_pd(f);
	iwt_op_channel(f);
	for (i = 0; i < 2; i++)
		iwt_op_cq(f);
	for (i = 0; i < 3; i++)
		iwt_op_mr(f);
	for (i = 0; i < 2; i++) {
		iwt_op_mw(f);
		iwt_op_pair(f);
	}
	return true;
}
