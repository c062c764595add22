// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: regions of dma-bufs, exported by the module iwt_dmabuf or the kernel's udmabuf. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/udmabuf.h>
#include <rdma/ib_user_verbs.h>

#include "../../modules/iwt_dmabuf/iwt_dmabuf.h"
#include "memory.h"

#define WRITABLE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
/* only on x86 may peers have the right for atomic operations on a dma-buf */
#ifdef __x86_64__
#define ATOMIC		IBV_ACCESS_REMOTE_ATOMIC
#else
#define ATOMIC		0
#endif
#define ALL_ACCESS	(WRITABLE | IBV_ACCESS_REMOTE_READ | ATOMIC)

static int exporter = -1;

static int make(uint64_t size, uint32_t flags)
{
	struct iwt_dmabuf_make m = { .size = size, .flags = flags };

	if (ioctl(exporter, IWT_DMABUF_MAKE, &m))
		die("IWT_DMABUF_MAKE");
	return m.fd;
}

static struct iwt_dmabuf_use look(int fd)
{
	struct iwt_dmabuf_use use = { .fd = fd };

	if (ioctl(exporter, IWT_DMABUF_USE, &use))
		die("IWT_DMABUF_USE");
	return use;
}

static bool unused(int fd)
{
	struct iwt_dmabuf_use use = look(fd);

	if (use.attached || use.pinned || use.mapped || use.accessed)
		printf("# attached %u, pinned %u, mapped %u, accessed %u\n", use.attached, use.pinned, use.mapped,
		       use.accessed);
	return !use.attached && !use.pinned && !use.mapped && !use.accessed;
}

/* Return: a dma-buf of the kernel's udmabuf, or -1 if the kernel has no udmabuf */
static int make_udmabuf(size_t size)
{
	struct udmabuf_create c = { .size = size };
	int dev = open("/dev/udmabuf", O_RDWR), fd;

	if (dev < 0)
		return -1;
	c.memfd = memfd_create("iwt_memory", MFD_ALLOW_SEALING);
	if ((int)c.memfd < 0 || ftruncate(c.memfd, size) || fcntl(c.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		die("memfd");
	fd = ioctl(dev, UDMABUF_CREATE, &c);
	if (fd < 0)
		die("UDMABUF_CREATE");
	close(c.memfd);
	close(dev);
	return fd;
}

/* ---- random regions, and random operations on each ---- */

static void one_region(struct bench *b, struct any *a, int fd, uint32_t accesses)
{
	any_part(b, a, ARENA);
	a->mem = a->arena + a->start;
	a->want = a->model + a->start;
	a->iova = any_iova(b, a->start);
	a->mr = ibv_reg_dmabuf_mr(b->pd[0], a->start, a->len, a->iova, fd, ALL_ACCESS);
	if (!a->mr) {
		any_wrong(a, "ibv_reg_dmabuf_mr");
		return;
	}
	while (accesses-- && !a->wrong[0])
		any_access(b, a);
	if (memcmp(a->arena, a->model, ARENA))
		any_wrong(a, "octets of the dma-buf differ");
	if (ibv_dereg_mr(a->mr))
		die("ibv_dereg_mr");
}

static void random_regions(struct bench *b, const char *name, int fd, uint32_t rounds)
{
	static uint8_t model[ARENA_MAX];
	struct any a = { .name = name, .model = model, .no_atomics = !ATOMIC };

	a.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (a.arena == MAP_FAILED)
		die("mmap of a dma-buf");
	fill(a.arena, ARENA);
	memcpy(a.model, a.arena, ARENA);
	while (rounds-- && !a.wrong[0])
		one_region(b, &a, fd, 8);
	if (a.wrong[0])
		printf("# %s\n", a.wrong);
	report(!a.wrong[0], "%s", name);
	conn_drop(&b->pair);
	munmap(a.arena, ARENA);
}

static void test_exporters(struct bench *b, uint32_t rounds)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} kinds[] = {
		{ "a dma-buf of virtual memory", 0 },
		{ "a dma-buf of linear memory", IWT_DMABUF_LINEAR },
		{ "a dma-buf that must be pinned", IWT_DMABUF_MOVES },
	};
	bool left = false;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fd = make(ARENA, kinds[i].flags);
		random_regions(b, kinds[i].name, fd, rounds);
		left |= !unused(fd);
		close(fd);
	}
	report(!left, "deregistration releases the dma-buf completely");
	fd = make_udmabuf(ARENA);
	if (fd < 0) {
		skip("a dma-buf of udmabuf", "this kernel has no udmabuf");
		return;
	}
	random_regions(b, "a dma-buf of udmabuf", fd, rounds);
	close(fd);
}

/* ---- refused registrations ---- */

static bool refused(struct bench *b, int fd, uint64_t off, uint64_t len, int access, int error)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_dmabuf_mr(b->pd[0], off, len, off, fd, access);
	if (mr)
		ibv_dereg_mr(mr);
	if (mr || errno != error)
		printf("# offset %llu, length %llu, access %#x: %s instead of %s\n", (unsigned long long)off,
		       (unsigned long long)len, access, mr ? "no error" : strerror(errno), strerror(error));
	return !mr && errno == error;
}

static bool refused_kind(struct bench *b, uint32_t flags, int access, int error)
{
	int fd = make(ARENA, flags);
	bool good = refused(b, fd, 0, PAGE, access, error) && unused(fd);

	close(fd);
	return good;
}

static void test_refusals(struct bench *b)
{
	int fd = make(ARENA, 0), file = open("/dev/null", O_RDWR);
	bool good;

	report(refused_kind(b, IWT_DMABUF_NO_VMAP, ALL_ACCESS, EOPNOTSUPP) &&
	       refused_kind(b, IWT_DMABUF_IOMEM, ALL_ACCESS, EOPNOTSUPP) &&
	       refused_kind(b, IWT_DMABUF_IOMEM | IWT_DMABUF_MOVES, ALL_ACCESS, EOPNOTSUPP),
	       "memory that the processor cannot access is refused");
	report(refused_kind(b, IWT_DMABUF_BUSY, ALL_ACCESS, EBUSY) &&
	       refused_kind(b, IWT_DMABUF_BUSY | IWT_DMABUF_MOVES, ALL_ACCESS, EBUSY),
	       "an error of the exporter is passed on");
	good = refused(b, fd, 0, 0, ALL_ACCESS, EINVAL) && refused(b, fd, 0, ARENA + 1, ALL_ACCESS, EINVAL) &&
	       refused(b, fd, ARENA, 1, ALL_ACCESS, EINVAL) && refused(b, fd, 1, ARENA, ALL_ACCESS, EINVAL) &&
	       refused(b, fd, PAGE, -PAGE, ALL_ACCESS, EINVAL) &&
	       refused(b, fd, UINT64_MAX, 2, ALL_ACCESS, EINVAL) && refused(b, file, 0, 1, ALL_ACCESS, EINVAL) &&
	       refused(b, -1, 0, 1, ALL_ACCESS, EBADF) &&
	       refused(b, fd, 0, 1, IBV_ACCESS_REMOTE_WRITE, EINVAL) &&
	       (ATOMIC || refused(b, fd, 0, PAGE, WRITABLE | IBV_ACCESS_REMOTE_ATOMIC, EOPNOTSUPP));
	report(good && unused(fd), "wrong bounds, descriptors and rights are refused");
	close(file);
	close(fd);
}

/* ---- a region that changes ---- */

/*
 * Gives the command of uverbs directly, because ibv_rereg_mr() refuses regions of dma-bufs.
 * Return: 0 or an errno value
 */
static int rereg(struct ibv_mr *mr, int flags, const struct ibv_pd *pd, void *at, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr cmd;
	} r = {
		.hdr = { IB_USER_VERBS_CMD_REREG_MR, sizeof(r) / 4, sizeof(resp) / 4 },
		.cmd = {
			.response = (uintptr_t)&resp,
			.mr_handle = mr->handle,
			.flags = flags,
			.start = (uintptr_t)at,
			.length = PAGE,
			.hca_va = (uintptr_t)at,
			.pd_handle = pd ? pd->handle : 0,
			.access_flags = access,
		},
	};

	if (write(mr->context->cmd_fd, &r, sizeof(r)) != sizeof(r))
		return errno;
	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return 0;
}

/*
 * A read-only descriptor allows only regions without a right to write. The peer may read such
 * regions.
 */
static void test_read_only(struct bench *b)
{
	int fd = make(PAGE, IWT_DMABUF_READ_ONLY);
	struct ibv_mr *mr;
	bool good;

	good = refused(b, fd, 0, PAGE, IBV_ACCESS_LOCAL_WRITE, EACCES) && refused(b, fd, 0, PAGE, WRITABLE, EACCES);
	mr = ibv_reg_dmabuf_mr(b->pd[0], 0, PAGE, 0, fd, IBV_ACCESS_REMOTE_READ);
	if (!mr)
		die("ibv_reg_dmabuf_mr");
	memset(b->source, 1, PAGE);
	good &= !bench_do(b, IBV_WR_RDMA_READ, PAGE, 0, mr->rkey) && !b->source[0];
	good &= rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, WRITABLE) == EACCES;
	good &= !!bench_do(b, IBV_WR_RDMA_WRITE, 8, 0, mr->rkey);
	ibv_dereg_mr(mr);
	report(good && unused(fd), "a read-only descriptor gives no right to write");
	close(fd);
}

static void must(bool *good, bool is, const char *what)
{
	if (!is)
		printf("# not so: %s\n", what);
	*good &= is;
}

static void test_changes(struct bench *b)
{
	int fd = make(PAGE, IWT_DMABUF_MOVES);
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(b->pd[1], 0, PAGE, 0, fd, ALL_ACCESS);
	uint32_t key = mr ? mr->rkey : 0;
	bool good = true;

	if (!mr)
		die("ibv_reg_dmabuf_mr");
	must(&good, bench_do(b, IBV_WR_RDMA_WRITE, 8, 0, mr->rkey),
	     "a Write in another domain fails");
	must(&good, rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->source, 0) == EOPNOTSUPP,
	     "a change to other memory is refused");
	must(&good, !rereg(mr, IBV_REREG_MR_CHANGE_PD, b->pd[0], NULL, 0) && mr->rkey != key,
	     "the domain changes");
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 8, 0, mr->rkey), "a Write");
	must(&good, !rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, IBV_ACCESS_REMOTE_READ),
	     "the rights change");
	must(&good, bench_do(b, IBV_WR_RDMA_WRITE, 8, 0, mr->rkey), "a Write without the right");
	must(&good, !bench_do(b, IBV_WR_RDMA_READ, 8, 0, mr->rkey), "a Read");
	if (ioctl(exporter, IWT_DMABUF_REVOKE, &fd))
		die("IWT_DMABUF_REVOKE");
	must(&good, !rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, ALL_ACCESS),
	     "the change to all rights");
	must(&good, bench_do(b, IBV_WR_RDMA_READ, 8, 0, mr->rkey) == IBV_WC_REM_ACCESS_ERR,
	     "a Read after the revocation");
	ibv_dereg_mr(mr);
	report(good && unused(fd),
	       "ibv_rereg_mr: domain and rights change, but the dma-buf does not");
	close(fd);
}

/* ---- the end of a dma-buf ---- */

/* The region keeps its memory when the descriptor of the dma-buf is closed. */
static void test_closed(struct bench *b)
{
	int fd = make(ARENA, IWT_DMABUF_MOVES);
	uint8_t *mem = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(b->pd[0], 0, ARENA, 0, fd, ALL_ACCESS);
	bool good;

	if (mem == MAP_FAILED || !mr)
		die("a dma-buf");
	close(fd);
	fill(b->source, PAGE);
	good = !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, PAGE, mr->rkey) && !memcmp(mem + PAGE, b->source, PAGE);
	munmap(mem, ARENA);
	good &= !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, 2 * PAGE, mr->rkey);
	memset(b->source, 0, PAGE);
	good &= !bench_do(b, IBV_WR_RDMA_READ, PAGE, PAGE, mr->rkey) && (b->source[0] || b->source[1]);
	ibv_dereg_mr(mr);
	report(good, "a region keeps its memory when the descriptor is closed");
}

struct writer {
	struct bench *b;
	struct ibv_mr *mr;
	enum ibv_wc_status status;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;

	while (!(w->status = bench_reap(w->b)))
		bench_post(w->b, IBV_WR_RDMA_WRITE, SOURCE, 0, w->mr->rkey);
	return NULL;
}

/* The exporter revokes the dma-buf while Writes arrive. */
static bool revoke_under_fire(struct bench *b, uint32_t flags)
{
	int fd = make(ARENA, IWT_DMABUF_MOVES | flags), i;
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(b->pd[0], 0, ARENA, 0, fd, ALL_ACCESS);
	struct writer w = { .b = b, .mr = mr };
	pthread_t thread;
	bool good;

	if (!mr)
		die("ibv_reg_dmabuf_mr");
	memset(b->source, 0xaa, SOURCE);
	bench_connect(b);
	for (i = 0; i < 8; i++)
		bench_post(b, IBV_WR_RDMA_WRITE, SOURCE, 0, mr->rkey);
	if (pthread_create(&thread, NULL, write_on, &w))
		die("pthread_create");
	usleep(below(3000));
	if (ioctl(exporter, IWT_DMABUF_REVOKE, &fd))
		die("IWT_DMABUF_REVOKE");
	pthread_join(thread, NULL);
	conn_drop(&b->pair);
	good = bench_do(b, IBV_WR_RDMA_READ, 8, 0, mr->rkey) == IBV_WC_REM_ACCESS_ERR;
	good &= bench_do_with(b, mr, 8) == IBV_WC_LOC_PROT_ERR;
	if (look(fd).touched)
		printf("# %u octets were written\n", look(fd).touched);
	good &= !look(fd).touched;
	ibv_dereg_mr(mr);
	good &= unused(fd);
	close(fd);
	return good;
}

static void test_revoked(struct bench *b, uint32_t rounds)
{
	bool good = true;

	while (good && rounds--)
		good = revoke_under_fire(b, chance(50) ? IWT_DMABUF_LINEAR : 0);
	report(good,
	       "a dma-buf is revoked during Writes: nothing more is written, and the key fails");
}

void test_dmabuf(struct bench *b, uint32_t rounds)
{
	exporter = open("/dev/iwt_dmabuf", O_RDWR | O_CLOEXEC);
	if (exporter < 0)
		die("/dev/iwt_dmabuf");
	test_exporters(b, rounds / 3 + 1);
	test_refusals(b);
	test_read_only(b);
	test_changes(b);
	test_closed(b);
	test_revoked(b, rounds / 10 + 1);
	close(exporter);
}
