// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: regions with on-demand paging: their memory is not pinned, and may be absent. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "odp.h"
#include "patience.h"
#include "pinned.h"

uint8_t *map(size_t len, int prot, int flags, int fd)
{
	uint8_t *p = mmap(NULL, len, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

uint8_t *anonymous(size_t len)
{
	return map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

struct ibv_mr *reg(struct bench *b, void *at, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(b->pd[0], at, len, access | ODP);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

void must(bool *good, bool is, const char *what)
{
	if (!is)
		printf("# not so: %s\n", what);
	*good &= is;
}

/* ---- capabilities of the device ---- */

static bool has_odp(struct bench *b)
{
	const uint32_t all = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			     IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
	struct ibv_device_attr_ex a = {};

	if (ibv_query_device_ex(b->verbs, NULL, &a))
		die("ibv_query_device_ex");
	if (!a.odp_caps.general_caps)
		return false;
	report(a.odp_caps.general_caps == (IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT) &&
	       a.odp_caps.per_transport_caps.rc_odp_caps == all && !a.odp_caps.per_transport_caps.uc_odp_caps &&
	       !a.odp_caps.per_transport_caps.ud_odp_caps, "the device reports its capabilities");
	return true;
}

/* ---- addresses that are not mapped ---- */

static void test_missing(struct bench *b)
{
	uint8_t *at = anonymous(4 * PAGE);
	struct ibv_mr *mr = reg(b, at, 4 * PAGE, ALL_ACCESS), *all = reg(b, NULL, SIZE_MAX, ALL_ACCESS);
	uint64_t addr = (uintptr_t)at;
	bool good = true;

	memset(at, 1, 4 * PAGE);
	/* do not unmap the pages: the rings of a queue pair might be mapped in their place */
	if (mprotect(at + PAGE, PAGE, PROT_NONE) || mprotect(at + 2 * PAGE, PAGE, PROT_READ))
		die("mprotect");
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, addr, mr->rkey),
	     "a Write to present pages");
	must(&good, bench_do(b, IBV_WR_RDMA_WRITE, 2 * PAGE, addr, mr->rkey),
	     "a Write to unmapped pages");
	must(&good, bench_do(b, IBV_WR_RDMA_READ, 8, addr + PAGE, mr->rkey) == IBV_WC_REM_ACCESS_ERR,
	     "a Read of unmapped pages");
	must(&good, bench_do(b, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, addr + PAGE, mr->rkey) == IBV_WC_REM_ACCESS_ERR,
	     "an atomic operation on an unmapped page");
	must(&good, !bench_do(b, IBV_WR_RDMA_READ, PAGE, addr + 2 * PAGE, mr->rkey),
	     "a Read of a read-only page");
	must(&good, bench_do(b, IBV_WR_RDMA_WRITE, PAGE, addr + 2 * PAGE, mr->rkey),
	     "a Write to a read-only page");
	must(&good, bench_do(b, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, addr + 2 * PAGE, mr->rkey) == IBV_WC_REM_ACCESS_ERR,
	     "an atomic operation on a read-only page");
	must(&good, at[2 * PAGE] == 1, "a read-only page stays unchanged");
	/* a processor might ignore bit 62 of the address */
	must(&good, bench_do(b, IBV_WR_RDMA_READ, 8, addr | 1ull << 62, all->rkey) == IBV_WC_REM_ACCESS_ERR,
	     "a Read of an impossible address");
	must(&good, !bench_do(b, IBV_WR_RDMA_READ, 8, addr, all->rkey), "a Read of an address");
	ibv_dereg_mr(all);
	report(good, "an access to memory that the process may not use is an error of the peer");
	ibv_dereg_mr(mr);
	munmap(at, 4 * PAGE);
}

static void test_local(struct bench *b)
{
	uint8_t *at = anonymous(2 * PAGE);
	struct ibv_mr *mr = ibv_reg_mr_iova(b->pd[0], at, 2 * PAGE, 0, ALL_ACCESS | ODP);
	bool good = true;

	if (!mr)
		die("ibv_reg_mr");
	must(&good, !bench_do_with(b, mr, PAGE) && !b->source[0] && !b->source[PAGE - 1], "a Send of absent pages");
	munmap(at, PAGE);
	must(&good, bench_do_with(b, mr, PAGE) == IBV_WC_LOC_PROT_ERR,
	     "a Send of unmapped pages");
	report(good, "the sender gets an error for memory that it does not have");
	ibv_dereg_mr(mr);
	munmap(at + PAGE, PAGE);
}

/* Makes a connection whose near end may send two elements with one request. */
static void connect_two(struct bench *b, struct conn *c)
{
	struct ibv_qp_init_attr_ex near, far;
	struct ibv_cq *cq[2];

	cq[0] = cq_make(b->verbs, 16, NULL);
	cq[1] = cq_make(b->verbs, 16, NULL);
	near = qp_attr(b->pd[0], cq[0], 8);
	far = qp_attr(b->pd[0], cq[1], 8);
	near.sq_sig_all = 1;
	near.cap.max_send_sge = 2;
	conn_make(c, &near, &far);
	c->near_cq = cq[0];
	c->far_cq = cq[1];
}

/*
 * Posts a Write of both elements, and a Read, which completes after the Write has been placed.
 * Return: true if both succeeded.
 */
static bool write_two(struct bench *b, struct conn *c, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = sge, .num_sge = 2 }, *bad;
	enum ibv_wc_status status;

	wr.wr.rdma.remote_addr = (uintptr_t)b->source;
	wr.wr.rdma.rkey = b->source_mr->rkey;
	errno = ibv_post_send(c->near->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
	post_request(c->near->qp, IBV_WR_RDMA_READ, NULL, 0, 0);
	status = bench_reap_from(c->near_cq);
	return !bench_reap_from(c->near_cq) && !status;
}

/*
 * Return: true if the memory file can be sealed against writing. Sealing fails while anything
 * else refers to pages of the file. TCP releases its references within a moment. If the sealing
 * still fails after 15 seconds, a reference has leaked.
 */
static bool sealed(int fd)
{
	struct patience p = {};

	while (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE)) {
		if (errno != EBUSY || !patient(&p, 15, 0))
			return false;
		usleep(10000);
	}
	return true;
}

/*
 * An FPDU contains bytes of a pinned page and of an absent page. The driver begins the FPDU,
 * gives up, and begins the FPDU again when the second page is present. With zero copy each
 * attempt takes a reference to the first page, and the driver must release this reference when it
 * gives up.
 */
static void test_given_up(struct bench *b)
{
	int i, fd = memfd_create("pinned", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint8_t *at, *absent = anonymous(PAGE);
	struct ibv_mr *mr[2];
	struct conn c;
	bool good = true;

	if (fd < 0 || ftruncate(fd, PAGE))
		die("memfd_create");
	at = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	memset(at, 7, PAGE);
	mr[0] = ibv_reg_mr(b->pd[0], at, PAGE, 0);
	mr[1] = reg(b, absent, PAGE, 0);
	if (!mr[0])
		die("ibv_reg_mr");
	connect_two(b, &c);
	for (i = 0; i < 20 && good; i++) {
		struct ibv_sge sge[] = {
			{ (uintptr_t)at, 2048, mr[0]->lkey }, { (uintptr_t)absent, 1024, mr[1]->lkey },
		};

		memset(absent, i + 1, PAGE);
		if (madvise(absent, PAGE, MADV_DONTNEED))
			die("madvise");
		memset(b->source, 0xff, 3072);
		must(&good, write_two(b, &c, sge), "a Write from two places");
		must(&good, b->source[0] == 7 && b->source[2047] == 7 && !b->source[2048] && !b->source[3071],
		     "the octets of both places arrive");
	}
	conn_drop(&c);
	ibv_dereg_mr(mr[0]);
	ibv_dereg_mr(mr[1]);
	munmap(absent, PAGE);
	munmap(at, PAGE);
	must(&good, sealed(fd), "no reference to the page remains");
	close(fd);
	report(good, "an FPDU that waits for memory keeps no references to pages");
}

/* ---- rights, rereg, advice ---- */

static int advise(struct bench *b, enum ibv_advise_mr_advice advice, void *at, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)at, len, lkey };

	return ibv_advise_mr(b->pd[0], advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static size_t present(uint8_t *at, size_t pages)
{
	unsigned char vec[64];
	size_t n = 0;

	if (mincore(at, pages * PAGE, vec))
		die("mincore");
	while (pages--)
		n += vec[pages] & 1;
	return n;
}

/* The driver makes the pages of a long range present in several steps. */
static void long_advice(struct bench *b, bool *good)
{
	const size_t pages = 12 * 64;
	uint8_t *at = anonymous(pages * PAGE);
	struct ibv_mr *mr = reg(b, at, pages * PAGE, ALL_ACCESS);
	size_t i, n = 0;

	must(good, !advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, at, pages * PAGE, mr->lkey), "a long prefetch");
	for (i = 0; i < pages; i += 64)
		n += present(at + i * PAGE, 64);
	must(good, n == pages, "all pages of a long prefetch are present");
	munmap(at + (pages - 1) * PAGE, PAGE);
	must(good, advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, at, pages * PAGE, mr->lkey) == EFAULT,
	     "a long prefetch whose last page is unmapped");
	ibv_dereg_mr(mr);
	munmap(at, (pages - 1) * PAGE);
}

static void test_advice(struct bench *b)
{
	uint8_t *at = anonymous(16 * PAGE);
	struct ibv_mr *mr = reg(b, at, 16 * PAGE, ALL_ACCESS), *ro = reg(b, at, 16 * PAGE, IBV_ACCESS_REMOTE_READ);
	bool good = true;

	must(&good, !present(at, 16), "all pages are absent at first");
	must(&good, !advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, at, 16 * PAGE, mr->lkey) && !present(at, 16),
	     "a prefetch without faults");
	must(&good, !advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, at + 2 * PAGE + 1, 2 * PAGE, mr->lkey) &&
	     present(at, 16) == 3, "prefetch to write");
	must(&good, !advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH, at, 16 * PAGE, ro->lkey), "prefetch");
	must(&good, advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, at, PAGE, ro->lkey) == EFAULT,
	     "a prefetch to write without the right");
	must(&good, advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH, at, 16 * PAGE + 1,
			   mr->lkey) == EFAULT, "a prefetch beyond the region");
	must(&good, advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH, at, 1, mr->lkey ^ 1) == EFAULT,
	     "a prefetch with another key");
	must(&good, advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH, b->source, 1, b->source_mr->lkey) == EFAULT,
	     "a prefetch of a pinned region");
	must(&good, advise(b, 77, at, 1, mr->lkey) == EOPNOTSUPP, "unknown advice");
	munmap(at + PAGE, PAGE);
	must(&good, advise(b, IBV_ADVISE_MR_ADVICE_PREFETCH, at, 2 * PAGE, mr->lkey) == EFAULT,
	     "a prefetch of unmapped pages");
	long_advice(b, &good);
	report(good, "ibv_advise_mr: pages become present as advised, wrong advice is refused");
	ibv_dereg_mr(mr);
	ibv_dereg_mr(ro);
	munmap(at, 16 * PAGE);
}

static void test_changes(struct bench *b)
{
	uint8_t *at = anonymous(PAGE);
	struct ibv_mr *mr = ibv_reg_mr(b->pd[1], at, PAGE, ALL_ACCESS | ODP);
	bool good = true;
	size_t pinned;

	if (!mr)
		die("ibv_reg_mr");
	must(&good, bench_do(b, IBV_WR_RDMA_WRITE, 8, (uintptr_t)at, mr->rkey),
	     "a Write in another domain fails");
	must(&good, !ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, b->pd[0], NULL, 0, 0), "the domain changes");
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 8, (uintptr_t)at, mr->rkey), "a Write");
	must(&good, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, at, PAGE, 0),
	     "a change to other memory is refused");
	must(&good, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS),
	     "a change to a pinned region is refused");
	must(&good, !ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_REMOTE_READ | ODP), "the rights change");
	must(&good, bench_do(b, IBV_WR_RDMA_WRITE, 8, (uintptr_t)at, mr->rkey), "a Write without the right");
	must(&good, ibv_rereg_mr(b->source_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, WRITABLE | ODP),
	     "a pinned region stays pinned");
	pinned = pinned_at_rest();
	must(&good, !ibv_dereg_mr(mr) && pinned_at_rest() == pinned, "the region was not pinned");
	report(good, "ibv_rereg_mr: domain and rights change, the memory stays unpinned");
	munmap(at, PAGE);
}

/* Tests which access flags the driver accepts together with on-demand paging. */
static void test_flags(struct bench *b)
{
	uint8_t *at = anonymous(PAGE);
	struct ibv_mr *mr = reg(b, at, PAGE, ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING);
	bool good = true;

	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, (uintptr_t)at, mr->rkey) && !memcmp(at, b->source, PAGE),
	     "a Write with relaxed ordering");
	must(&good, !ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_REMOTE_READ | ODP | IBV_ACCESS_RELAXED_ORDERING), "the hint stays");
	ibv_dereg_mr(mr);
	mr = ibv_reg_mr(b->pd[0], at, PAGE, ALL_ACCESS | ODP | IBV_ACCESS_HUGETLB);
	must(&good, mr, "the flag that promises huge pages");
	if (mr)
		ibv_dereg_mr(mr);
	errno = 0;
	mr = ibv_reg_mr(b->pd[0], at, PAGE, ALL_ACCESS | ODP | IBV_ACCESS_MW_BIND);
	must(&good, !mr && errno == EOPNOTSUPP, "memory windows are refused");
	errno = 0;
	mr = ibv_reg_mr(b->pd[0], at, PAGE, IBV_ACCESS_REMOTE_WRITE | ODP);
	must(&good, !mr && errno == EINVAL, "remote write without local write is refused");
	errno = 0;
	mr = ibv_reg_mr(b->pd[0], at, 0, ALL_ACCESS | ODP);
	must(&good, !mr && errno == EINVAL, "a region without octets is refused");
	report(good, "relaxed ordering is accepted, windows and contradictory flags are refused");
	munmap(at, PAGE);
}

/* ---- files ---- */

static void test_file(struct bench *b)
{
	char name[] = "/tmp/iwt_memory.XXXXXX";
	int fd = mkstemp(name);
	uint8_t *at, back[2 * PAGE];
	struct ibv_mr *mr;
	bool good = true;

	if (fd < 0 || ftruncate(fd, 4 * PAGE))
		die("a file");
	unlink(name);
	at = map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	mr = reg(b, at, 4 * PAGE, ALL_ACCESS);
	fill(b->source, 2 * PAGE);
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 2 * PAGE, (uintptr_t)at, mr->rkey), "a Write");
	if (msync(at, 4 * PAGE, MS_SYNC))
		die("msync");
	must(&good, pread(fd, back, 2 * PAGE, 0) == 2 * PAGE && !memcmp(back, b->source, 2 * PAGE), "what is in the file");
	fill(b->source, PAGE);
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, (uintptr_t)at, mr->rkey), "a Write behind msync");
	if (ftruncate(fd, PAGE))
		die("ftruncate");
	must(&good, bench_do(b, IBV_WR_RDMA_WRITE, PAGE, (uintptr_t)at + PAGE, mr->rkey), "a Write behind the end");
	must(&good, bench_do(b, IBV_WR_RDMA_READ, PAGE, (uintptr_t)at + PAGE, mr->rkey), "a Read behind the end");
	if (ftruncate(fd, 2 * PAGE))
		die("ftruncate");
	must(&good, !bench_do(b, IBV_WR_RDMA_READ, PAGE, (uintptr_t)at + PAGE, mr->rkey) &&
	     !b->source[0], "a Read after the file has grown again");
	must(&good, pread(fd, back, PAGE, 0) == PAGE, "read");
	report(good, "a file: written octets arrive, and accesses behind its end fail");
	ibv_dereg_mr(mr);
	munmap(at, 4 * PAGE);
	close(fd);
}

/* ---- accounting of the kernel's memory ---- */

#define APART	(64 * PAGE)	/* bytes of memory for which the driver's xarray needs one node */
#define PLACES	300

/*
 * Return: bytes of kernel objects that a control group is charged for. @stat: path of the file
 * memory.stat of this group
 */
static long charged(const char *stat)
{
	FILE *f = fopen(stat, "r");
	long n, slab = 0;
	char name[100];

	if (!f)
		die(stat);
	while (fscanf(f, "%99s %ld", name, &n) == 2)
		if (!strcmp(name, "slab"))
			slab = n;
	fclose(f);
	return slab;
}

/*
 * A peer writes to absent pages that are far apart, and a worker of the driver makes the pages
 * present. The kernel's objects for these pages must be charged to the process.
 */
void test_odp_charge(struct bench *b, const char *stat)
{
	uint8_t *at = map(PLACES * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	struct ibv_mr *mr = ibv_reg_mr(b->pd[0], NULL, SIZE_MAX, ALL_ACCESS | ODP);
	struct patience p = {};
	long before;
	bool good = true;
	size_t i;

	if (!mr)
		die("ibv_reg_mr");
	bench_connect(b);
	before = charged(stat);
	for (i = 0; i < PLACES && good; i++)
		must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 8, (uintptr_t)at + i * APART, mr->rkey), "a Write");
	/* the kernel updates memory.stat only from time to time */
	while (charged(stat) - before < PLACES * 300 && patient(&p, PATIENCE, 0))
		usleep(100000);
	printf("# charged: %ld octets for %d pages\n", charged(stat) - before, PLACES);
	report(good && charged(stat) - before >= PLACES * 300,
	       "the process is charged for the kernel's objects for its pages");
	ibv_dereg_mr(mr);
	munmap(at, PLACES * APART);
}

/*
 * Registers four regions, with and without on-demand paging, and with and without relaxed
 * ordering; and a fifth region, with relaxed ordering, which a change of its access flags ends.
 * Then a script checks how the kernel shows these regions.
 */
void test_hold(struct bench *b)
{
	static const int access[] = { 0, IBV_ACCESS_RELAXED_ORDERING };
	uint8_t *at = anonymous(PAGE);
	struct ibv_mr *mr;
	size_t i;

	for (i = 0; i < 2; i++) {
		reg(b, at, PAGE, ALL_ACCESS | access[i]);
		mr = ibv_reg_mr(b->pd[0], at, PAGE, ALL_ACCESS | access[i]);
		if (!mr)
			die("ibv_reg_mr");
	}
	mr = ibv_reg_mr(b->pd[0], at, PAGE, ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING);
	if (!mr || ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS))
		die("ibv_rereg_mr");
	printf("# holds\n");
	fflush(stdout);
	pause();
}

void test_odp(struct bench *b, uint32_t rounds)
{
	if (!has_odp(b)) {
		skip("on-demand paging", "this kernel has no on-demand paging");
		return;
	}
	test_odp_model(b, rounds);
	test_missing(b);
	test_local(b);
	test_given_up(b);
	test_advice(b);
	test_changes(b);
	test_flags(b);
	test_file(b);
	test_odp_huge(b, rounds);
	test_odp_stuck(b);
	test_odp_races(b, rounds);
}
