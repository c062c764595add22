// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_abi: sends uverbs commands as an older or a newer provider may send them. Each command is
 * sent many times, with private (driver-specific) parts of the request and of the answer that are
 * shorter or longer than the structures of the module. In some requests the bytes after the
 * module's structure are zero, in other requests they are not. Prints TAP, and "# features MASK":
 * the features that the module has.
 *
 *	iwt_abi DEVICE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/iw_tcp-abi.h>

#include "results.h"

#define MORE	64	/* bytes of the longest private part */
#define CANARY	0xa5
#define RANDOM	400

static char path[64];
static int fd = -1;
static uint32_t pd, cq, qp, mr;
static uint8_t page[4096] __attribute__((aligned(4096)));

/* The private part of a request. @in: its length in bytes; @out: length of the answer's part */
struct part {
	unsigned int in, out;
	uint8_t octets[MORE];
};

/* A request and its answer. Each begins with the common part; the private part follows. */
struct call {
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint8_t body[256 + MORE];
	} req;
	uint8_t resp[512];
	size_t common;	/* bytes of the common part of the answer */
};

static void result(bool good, const char *what, const char *of)
{
	report(good, "%s: %s", of, what);
}

/*
 * Sends the command @number. @body: the common part of the request, of @len bytes. @common: bytes
 * of the common part of the answer, 0 for a command without an answer. If there is an answer, its
 * address replaces the first eight bytes of @body in the request. Return: 0 or an error number
 */
static int run(struct call *c, uint32_t number, const void *body, size_t len, size_t common,
	       const struct part *p)
{
	uint64_t to = (uintptr_t)c->resp;
	size_t all = sizeof(c->req.hdr) + len + p->in;

	memset(c->resp, CANARY, sizeof(c->resp));
	memcpy(c->req.body, body, len);
	if (common)
		memcpy(c->req.body, &to, sizeof(to));
	memcpy(c->req.body + len, p->octets, p->in);
	c->common = common;
	c->req.hdr.command = number;
	c->req.hdr.in_words = all / 4;
	c->req.hdr.out_words = common ? (common + p->out) / 4 : 0;
	return write(fd, &c->req, all) < 0 ? errno : 0;
}

#define RUN(c, NAME, body, common, p) \
	run(c, IB_USER_VERBS_CMD_##NAME, &(body), sizeof(body), common, p)

static uint32_t handle_of(const struct call *c)
{
	uint32_t handle;

	memcpy(&handle, c->resp, sizeof(handle));
	return handle;
}

static void drop(uint32_t number, const void *body, size_t len, size_t common)
{
	struct part none = {};
	struct call c = {};

	if (run(&c, number, body, len, common, &none))
		die("an object cannot be destroyed");
}

#define DROP(NAME, body, common) \
	drop(IB_USER_VERBS_CMD_##NAME, &(body), sizeof(body), common)

static int do_context(struct call *c, const struct part *p)
{
	struct ib_uverbs_get_context body = {};
	struct ib_uverbs_get_context_resp resp;
	int was = fd, err;

	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(path);
	err = RUN(c, GET_CONTEXT, body, sizeof(resp), p);
	if (!err) {
		memcpy(&resp, c->resp, sizeof(resp));
		close(resp.async_fd);
	}
	/* keep the first context, and close every later context */
	if (was >= 0 || err) {
		close(fd);
		fd = was;
	}
	return err;
}

static int do_pd(struct call *c, const struct part *p)
{
	struct ib_uverbs_alloc_pd body = {};
	int err = RUN(c, ALLOC_PD, body, sizeof(struct ib_uverbs_alloc_pd_resp), p);

	if (!err && pd) {
		struct ib_uverbs_dealloc_pd d = { .pd_handle = handle_of(c) };

		DROP(DEALLOC_PD, d, 0);
	} else if (!err) {
		pd = handle_of(c);
	}
	return err;
}

static int do_cq(struct call *c, const struct part *p)
{
	struct ib_uverbs_create_cq body = { .cqe = 4, .comp_channel = -1 };
	int err = RUN(c, CREATE_CQ, body, sizeof(struct ib_uverbs_create_cq_resp), p);

	if (!err && cq) {
		struct ib_uverbs_destroy_cq d = { .cq_handle = handle_of(c) };
		struct call other = {};

		d.response = (uintptr_t)other.resp;
		DROP(DESTROY_CQ, d, sizeof(struct ib_uverbs_destroy_cq_resp));
	} else if (!err) {
		cq = handle_of(c);
	}
	return err;
}

static int do_qp(struct call *c, const struct part *p)
{
	struct ib_uverbs_create_qp body = {
		.pd_handle = pd, .send_cq_handle = cq, .recv_cq_handle = cq, .max_send_wr = 1,
		.max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .qp_type = IBV_QPT_RC };
	int err = RUN(c, CREATE_QP, body, sizeof(struct ib_uverbs_create_qp_resp), p);

	if (!err && qp) {
		struct ib_uverbs_destroy_qp d = { .qp_handle = handle_of(c) };

		DROP(DESTROY_QP, d, sizeof(struct ib_uverbs_destroy_qp_resp));
	} else if (!err) {
		qp = handle_of(c);
	}
	return err;
}

static int do_modify(struct call *c, const struct part *p)
{
	struct ib_uverbs_modify_qp body = {
		.qp_handle = qp, .attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_INIT };

	return RUN(c, MODIFY_QP, body, 0, p);
}

static int do_mr(struct call *c, const struct part *p)
{
	struct ib_uverbs_reg_mr body = {
		.start = (uintptr_t)page, .length = sizeof(page), .hca_va = (uintptr_t)page,
		.pd_handle = pd, .access_flags = IBV_ACCESS_LOCAL_WRITE };
	int err = RUN(c, REG_MR, body, sizeof(struct ib_uverbs_reg_mr_resp), p);

	if (!err && mr) {
		struct ib_uverbs_dereg_mr d = { .mr_handle = handle_of(c) };

		DROP(DEREG_MR, d, 0);
	} else if (!err) {
		mr = handle_of(c);
	}
	return err;
}

static int do_rereg(struct call *c, const struct part *p)
{
	struct ib_uverbs_rereg_mr body = {
		.mr_handle = mr, .flags = IBV_REREG_MR_CHANGE_ACCESS,
		.access_flags = IBV_ACCESS_LOCAL_WRITE };

	return RUN(c, REREG_MR, body, sizeof(struct ib_uverbs_rereg_mr_resp), p);
}

/* A command with an extended header, which counts lengths in units of eight bytes */
static int do_query(struct call *c, const struct part *p)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_query_device body;
		uint8_t octets[MORE];
	} req = {
		.hdr.command = IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		.hdr.in_words = sizeof(req.body) / 8,
		.hdr.out_words = sizeof(struct ib_uverbs_ex_query_device_resp) / 8,
		.ex.response = (uintptr_t)c->resp,
		.ex.provider_in_words = p->in / 8,
		.ex.provider_out_words = p->out / 8,
	};
	size_t len = offsetof(__typeof__(req), octets) + p->in;

	memset(c->resp, CANARY, sizeof(c->resp));
	memcpy(req.octets, p->octets, p->in);
	c->common = sizeof(struct ib_uverbs_ex_query_device_resp);
	return write(fd, &req, len) < 0 ? errno : 0;
}

/*
 * The order matters: a command uses objects that the commands before it have created. @known_in,
 * @known_out: bytes of the private parts that the module knows. @unit: lengths of the private
 * parts must be multiples of this number (0: of 4)
 */
static const struct command {
	const char *name;
	int (*run)(struct call *c, const struct part *p);
	unsigned int known_in, known_out, unit;
} commands[] = {
	{ "context", do_context, sizeof(struct iwt_uctx_req), sizeof(struct iwt_uctx_resp) },
	{ "pd", do_pd, 0, 0 },
	{ "cq", do_cq, 0, sizeof(struct iwt_create_cq_resp) },
	{ "qp", do_qp, 0, sizeof(struct iwt_create_qp_resp) },
	{ "modify qp", do_modify, 0, 0 },
	{ "mr", do_mr, 0, sizeof(struct iwt_reg_mr_resp) },
	{ "rereg mr", do_rereg, 0, 0 },
	{ "query device", do_query, 0, 0, 8 },
	{}
};

/* Has the kernel written an answer of the right length, and nothing after it? */
static bool right_length(const struct command *k, const struct call *c, const struct part *p)
{
	const uint8_t *private = c->resp + c->common;
	unsigned int i, len = p->out < k->known_out ? p->out : k->known_out;

	if (!c->common)
		return true;
	for (i = len; i < MORE; i++)
		if (private[i] != CANARY)
			return false;
	/* a word that still consists of canary bytes has not been written by the kernel */
	for (i = 0; i + 4 <= len; i += 4)
		if (!memcmp(private + i, &(uint32_t) { 0xa5a5a5a5 }, 4))
			return false;
	return true;
}

/* Runs a command. Are the error number and the length of the answer right? */
static bool is_right(const struct command *k, const struct part *p)
{
	struct call c = {};
	unsigned int i;
	int want = 0, err;

	/* the header of this command can only express multiples of @unit */
	if (k->unit && (p->in % k->unit || p->out % k->unit))
		return true;
	for (i = k->known_in; i < p->in; i++)
		if (p->octets[i])
			want = EOPNOTSUPP;
	err = k->run(&c, p);
	if (err == want && (err || right_length(k, &c, p)))
		return true;
	printf("# %s: %u octets, room for %u: %s instead of %s\n", k->name, p->in, p->out,
	       strerror(err), strerror(want));
	return false;
}

static void lengths(const struct command *k)
{
	struct part p = {};
	bool good = true;

	for (p.in = 0; p.in <= MORE; p.in += 4)
		for (p.out = 0; p.out <= MORE; p.out += 4)
			good &= is_right(k, &p);
	result(good, "requests of zeros and answers, of all lengths", k->name);
}

static void unknown(const struct command *k)
{
	struct part p = { .in = MORE, .out = k->known_out };
	bool good = true;
	unsigned int i;

	for (p.in = 4; p.in <= MORE; p.in += 4)
		for (i = 0; i < p.in; i++) {
			p.octets[i] = 1 << i % 8;
			good &= is_right(k, &p);
			p.octets[i] = 0;
		}
	result(good, "one bit set in one of the octets", k->name);
}

static void at_random(const struct command *k)
{
	bool good = true;
	int n;

	for (n = 0; n < RANDOM; n++) {
		struct part p = { .in = rand() % (MORE / 4 + 1) * 4,
				  .out = rand() % (MORE / 4 + 1) * 4 };
		unsigned int bits = rand() % 3;

		while (bits-- && p.in)
			p.octets[rand() % p.in] |= 1 << rand() % 8;
		good &= is_right(k, &p);
	}
	result(good, "random requests", k->name);
}

static uint64_t answer_to(uint64_t mask)
{
	struct part p = { .in = 8, .out = 8 };
	struct call c = {};
	uint64_t got;

	memcpy(p.octets, &mask, sizeof(mask));
	if (do_context(&c, &p))
		die("a context");
	memcpy(&got, c.resp + c.common, sizeof(got));
	return got;
}

static void features(void)
{
	uint64_t all = answer_to(UINT64_MAX), mask;
	bool good = true;
	int i;

	printf("# features %#llx\n", (unsigned long long)all);
	result(all && all != UINT64_MAX, "the module has some of the 64 features, but not all",
	       "features");
	for (i = 0; i < 64; i++) {
		mask = 1ull << i;
		good &= answer_to(mask) == (mask & all);
		good &= answer_to(~mask) == (~mask & all);
	}
	for (i = 0; i < RANDOM; i++) {
		mask = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ rand();
		good &= answer_to(mask) == (mask & all);
	}
	result(good, "the answer has those requested features that the module has", "features");
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const struct command *k;
	struct part none = {};
	struct call c;
	int i;

	setlinebuf(stdout);
	for (i = 0; argc == 2 && list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			snprintf(path, sizeof(path), "/dev/infiniband/%.40s", list[i]->dev_name);
	if (!*path)
		die("usage: iwt_abi DEVICE");
	srand(1);
	for (k = commands; k->name; k++) {
		/*
		 * Create the object that later commands use. The functions above treat the handle
		 * 0 as "no object yet", but the first object gets this handle. So run the command
		 * twice: then the second object, with another handle, is used.
		 */
		memset(&c, 0, sizeof(c));
		if (k->run(&c, &none) || k->run(&c, &none))
			die(k->name);
		lengths(k);
		unknown(k);
		at_random(k);
	}
	features();
	return results_end();
}
