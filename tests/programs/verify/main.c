// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: runs the cases in order. The client prints the results in TAP. usage() lists the
 * options; --ops also accepts "send_inv". PORT is 7471 by default; RDMA connections use PORT,
 * and the control channel uses PORT + 1.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "patience.h"
#include "verify.h"

static unsigned int n_ok, n_failed, n_skipped;
static uint32_t next_msg = 1, next_conn;

static const char *const op_name[IWT_KINDS] = {
	"SEND", "SEND_WITH_INV", "WRITE", "READ", "WRITE_WITH_IMM", "SEND_WITH_IMM",
	"FETCH_AND_ADD", "CMP_AND_SWP",
};
static const char *const size_name[IWT_SIZE_SETS] = {
	"0 to 1025", "1400 to 1464", "8894 to 8960", "4095 to 16385", "65535 to 65537",
	"1 MiB", "64 MiB", "26000 to 40000 in many pages", "random sizes",
};

static int run_case(struct iwt_ctx *cx, const struct iwt_case *k)
{
	bool requester = cx->o.server == !!k->from_server;
	int rc = -1;

	cx->err[0] = cx->peer_err[0] = 0;
	cx->peer_failed = false;
	switch (k->kind) {
	case IWT_CASE_CONNECT:
		iwt_disconnect(cx);
		rc = iwt_connect(cx, k);
		break;
	case IWT_CASE_BATCH:
		rc = cx->c.qp ? iwt_batch_run(cx, k, requester) : iwt_fail(cx, "no connection");
		break;
	case IWT_CASE_EVENTS:
		rc = cx->c.qp ? iwt_events_run(cx, k, requester) : iwt_fail(cx, "no connection");
		break;
	case IWT_CASE_NEG:
		rc = cx->c.qp ? iwt_neg_run(cx, k, requester) : iwt_fail(cx, "no connection");
		break;
	default:
		iwt_fail(cx, "unknown case");
	}
	return iwt_verdict(cx, rc);
}

static int serve(struct iwt_ctx *cx)
{
	struct iwt_case k;

	while (!iwt_ctl_recv_case(cx, &k)) {
		if (k.kind == IWT_CASE_QUIT) {
			iwt_disconnect(cx);
			return 0;
		}
		/*
		 * iwt_verdict() has sent the failure to the client, which prints it as a result
		 */
		if (run_case(cx, &k) && cx->err[0])
			fprintf(stderr, "# server: %s\n", cx->err);
	}
	fprintf(stderr, "# server: %s\n", cx->err);
	return 1;
}

/* Has the server timed out, and has this side found no fault of its own? */
static bool server_late(const struct iwt_ctx *cx)
{
	return !strncmp(cx->peer_err, "timeout: ", 9) &&
	       (!cx->err[0] || strstr(cx->err, "the peer gave up"));
}

static void report(struct iwt_ctx *cx, int rc, const char *what)
{
	if (rc && server_late(cx))
		patient_late("the server");
	printf("%sok %u - %s\n", rc ? "not " : "", n_ok + n_failed + n_skipped + 1, what);
	if (!rc) {
		n_ok++;
	} else {
		n_failed++;
		if (cx->err[0])
			printf("#   client: %s\n", cx->err);
		if (cx->peer_err[0])
			printf("#   server: %s\n", cx->peer_err);
	}
	fflush(stdout);
}

static void skip(const char *what, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", n_ok + n_failed + n_skipped + 1, what, why);
	fflush(stdout);
	n_skipped++;
}

/* After this number of failures no more cases are run, to save time. */
#define MAX_FAILED 12

static int command(struct iwt_ctx *cx, const struct iwt_case *k)
{
	if (n_failed >= MAX_FAILED)
		return iwt_fail(cx, "not run after so many failures");
	if (cx->ctl_dead || iwt_ctl_send_case(cx, k))
		return -1;
	return run_case(cx, k);
}

struct config {
	uint32_t events, wr, sig_all, one_cq;
	const char *name;
};

static struct iwt_case base_case(struct iwt_ctx *cx)
{
	return (struct iwt_case) {
		.max_inline = cx->o.local_siw || cx->o.peer_siw ? 64 : 200,
		.max_size = cx->o.max_size, .seed = cx->o.seed, .sge = 1,
		.ops = 1 << IWT_SEND, .tame = cx->o.local_siw || cx->o.peer_siw,
	};
}

static int connect_as(struct iwt_ctx *cx, const struct config *cf)
{
	struct iwt_case k = base_case(cx);
	int rc;

	k.kind = IWT_CASE_CONNECT;
	k.use_events = cf->events;
	k.use_wr = cf->wr;
	k.sig_all = cf->sig_all;
	k.one_cq = cf->one_cq;
	k.conn_no = next_conn++;
	rc = command(cx, &k);
	if (rc)
		return rc;
	/* the initiator must send the first message: run a batch of one empty Send */
	k.kind = IWT_CASE_BATCH;
	k.sizes = IWT_SZ_1M;
	k.max_size = 0;
	k.msg = next_msg++;
	return command(cx, &k);
}

/*
 * Between iw_tcp and siw a connection may need a second attempt. This is no failure, because the
 * making of connections is not tested with siw; the first attempt is printed as a comment.
 */
static int connect_with(struct iwt_ctx *cx, const struct config *cf)
{
	int rc = connect_as(cx, cf);

	if (!rc || !(cx->o.local_siw || cx->o.peer_siw))
		return rc;
	printf("# once more: connecting: %s%s%s\n", cx->err, cx->peer_err[0] ? "; " : "",
	       cx->peer_err);
	return connect_as(cx, cf);
}

/* Runs all parts of a size set. After a failure, makes a new connection. */
static void batches(struct iwt_ctx *cx, const struct config *cf, struct iwt_case k, const char *what)
{
	static struct iwt_plan p;
	uint32_t parts = 1;
	char name[200];
	int rc = 0;

	iwt_plan_make(&p, &k, 1, 1, &parts);
	if (!parts)
		return;
	k.kind = IWT_CASE_BATCH;
	for (k.part = 0; k.part < parts && !rc; k.part++) {
		k.msg = next_msg;
		next_msg += IWT_MAX_OPS;
		rc = command(cx, &k);
	}
	snprintf(name, sizeof(name), "%s: %s, %s, %s", cf->name,
		 k.from_server ? "server to client" : "client to server", what, size_name[k.sizes]);
	report(cx, rc, name);
	if (rc)
		connect_with(cx, cf);
}

static void sizes(struct iwt_ctx *cx, const struct config *cf, uint32_t from_server, uint32_t top)
{
	struct iwt_case k = base_case(cx);
	uint32_t op;

	k.from_server = from_server;
	for (op = 0; op < IWT_KINDS; op++) {
		if (!(cx->o.ops & 1 << op))
			continue;
		k.ops = 1 << op;
		/* Sends with immediate data, and atomic operations, have a fixed length */
		for (k.sizes = cx->o.brief ? IWT_SZ_64K : 0;
		     k.sizes <= (op < IWT_SEND_IMM ? top : IWT_SZ_SMALL); k.sizes++) {
			k.flags = k.sizes == IWT_SZ_SMALL ? 0 : IWT_F_SIGNALED;
			batches(cx, cf, k, op_name[op]);
		}
	}
}

static const char *text_of(uint32_t op, const char *how)
{
	static char text[80];

	snprintf(text, sizeof(text), "%s, %s", op_name[op], how);
	return text;
}

static void variations(struct iwt_ctx *cx, const struct config *cf, uint32_t from_server)
{
	struct iwt_case k = base_case(cx);
	uint32_t op;
	int i;

	k.from_server = from_server;
	for (op = 0; op < IWT_KINDS && !cx->o.brief; op++) {
		if (!(cx->o.ops & 1 << op))
			continue;
		k.ops = 1 << op;
		k.sge = IWT_MAX_PIECES;
		k.flags = IWT_F_SIGNALED;
		k.sizes = IWT_SZ_SMALL;
		if (op < IWT_SEND_IMM)
			batches(cx, cf, k, text_of(op, iwt_is_send(op) ? "gathered and scattered" :
						   op == IWT_READ ? "scattered" : "gathered"));
		k.flags = IWT_F_SIGNALED | IWT_F_INLINE;
		if (!iwt_is_fetch(op))
			batches(cx, cf, k, text_of(op, "inline"));
	}
	k.sge = IWT_MAX_PIECES;
	k.sizes = IWT_SZ_DENSE;
	k.flags = IWT_F_SIGNALED;
	k.ops = cx->o.ops & (1 << IWT_SEND | 1 << IWT_WRITE);
	if (k.ops && k.max_size >= 40000 && !k.tame)
		batches(cx, cf, k, "gathered");
	k.ops = cx->o.ops;
	k.sizes = IWT_SZ_RANDOM;
	k.flags = IWT_F_SIGNALED | IWT_F_INLINE | IWT_F_SOLICITED;
	/* fenced requests are not tested with siw */
	if (!cx->o.local_siw && !cx->o.peer_siw)
		k.flags |= IWT_F_FENCE;
	for (i = 0; i < cx->o.rounds; i++) {
		k.seed = cx->o.seed * 1000003u + i * 2 + from_server;
		batches(cx, cf, k, "everything mixed");
	}
}

static const struct config configs[] = {
	{ 0, 0, 0, 0, "poll" },
	{ 1, 0, 0, 0, "events" },
	{ 0, 1, 0, 1, "poll, ibv_wr, one CQ" },
	{ 1, 1, 1, 0, "events, ibv_wr, sq_sig_all" },
};

static int data_cases(struct iwt_ctx *cx)
{
	uint32_t i, dir;

	for (i = 0; i < (cx->o.brief ? 1 : sizeof(configs) / sizeof(*configs)); i++) {
		const struct config *cf = &configs[i];

		/* the user has excluded ibv_wr_*() (--no-wr): do not report a skipped test */
		if (cf->wr && cx->o.no_wr)
			continue;
		if (cf->wr && (cx->o.local_siw || cx->o.peer_siw)) {
			skip(cf->name, "siw has no ibv_qp_ex");
			continue;
		}
		if (connect_with(cx, cf)) {
			report(cx, -1, cf->name);
			return -1;
		}
		for (dir = 0; dir < 2; dir++) {
			sizes(cx, cf, dir, cx->o.full || !i ? IWT_SZ_64M : IWT_SZ_SMALL);
			variations(cx, cf, dir);
		}
	}
	return 0;
}

/* Makes a new connection, and runs one case on this connection. */
static void one_shot(struct iwt_ctx *cx, uint32_t kind, uint32_t which, uint32_t from_server,
		     const char *name)
{
	struct iwt_case k = base_case(cx);
	char text[200];
	int rc;

	k.kind = kind;
	k.arg = which;
	k.from_server = from_server;
	snprintf(text, sizeof(text), "%s (%s)", name, from_server ? "by the server" : "by the client");
	rc = connect_with(cx, &configs[0]);
	if (!rc)
		rc = command(cx, &k);
	report(cx, rc, text);
}

/*
 * Cases with an operation that the peer does not know are run only from iw_tcp to siw. Return:
 * true if @which is such a case, and has to be left out because of the types of the links
 */
static bool for_others(struct iwt_ctx *cx, uint32_t which, uint32_t from_server)
{
	bool offender_siw = from_server ? cx->o.peer_siw : cx->o.local_siw;
	bool victim_siw = from_server ? cx->o.local_siw : cx->o.peer_siw;

	return (which == IWT_NEG_ATOMIC_UNKNOWN || which == IWT_NEG_IMM_UNKNOWN) &&
	       (offender_siw || !victim_siw);
}

/*
 * Some error cases are run only if both ends are iw_tcp, or if the end with iw_tcp decides the
 * result. Return: true if the case has to be left out
 */
static bool between_ours(struct iwt_ctx *cx, uint32_t which, uint32_t from_server)
{
	bool offender_siw = from_server ? cx->o.peer_siw : cx->o.local_siw;
	bool victim_siw = from_server ? cx->o.local_siw : cx->o.peer_siw;
	bool any = cx->o.local_siw || cx->o.peer_siw;

	if (any && ((which >= IWT_NEG_ATOMIC_RIGHTS && which <= IWT_NEG_ATOMIC_ALIGN) ||
		    which == IWT_NEG_IMM_NO_RECV))
		return true;
	if ((offender_siw || victim_siw) && (which == IWT_NEG_READ_RKEY ||
					     which == IWT_NEG_READ_BOUNDS ||
					     which == IWT_NEG_READ_PD || which == IWT_NEG_READ_DEREG))
		return true;
	if (offender_siw && which == IWT_NEG_FLUSH)
		return true;
	return (victim_siw && (which == IWT_NEG_READ_RIGHTS || which == IWT_NEG_SEND_LONG ||
			       which == IWT_NEG_CLOSE)) ||
	       (any && (which == IWT_NEG_INV_USER || which == IWT_NEG_LKEY ||
			which == IWT_NEG_LKEY_LATER || which == IWT_NEG_LOCAL_BOUNDS || which == IWT_NEG_SINK_RIGHTS));
}

/*
 * Return: true if the result of this case depends on events of siw. Such cases are left out,
 * except IWT_EV_ONCE: with siw, too, one arm must give one event.
 */
static bool event_of_siw(struct iwt_ctx *cx, uint32_t which, uint32_t from_server)
{
	bool at_server = (which == IWT_EV_SENDER) == !!from_server;

	return which != IWT_EV_ONCE && (at_server ? cx->o.peer_siw : cx->o.local_siw);
}

static void special_cases(struct iwt_ctx *cx)
{
	uint32_t i, dir;

	for (dir = 0; dir < 2 && !cx->o.no_events; dir++)
		for (i = 0; i < IWT_EV_CASES; i++)
			if (event_of_siw(cx, i, dir))
				skip(iwt_event_name(i), "only where both ends are judged");
			else
				one_shot(cx, IWT_CASE_EVENTS, i, dir, iwt_event_name(i));
	for (dir = 0; dir < 2 && !cx->o.no_neg; dir++)
		for (i = 0; i < IWT_NEG_CASES; i++)
			if (for_others(cx, i, dir))
				continue;
			else if (between_ours(cx, i, dir))
				skip(iwt_neg_name(i), "only where both ends are judged");
			else
				one_shot(cx, IWT_CASE_NEG, i, dir, iwt_neg_name(i));
	report(cx, connect_with(cx, &configs[0]), "one more connection");
}

static int drive(struct iwt_ctx *cx)
{
	struct iwt_case quit = { .kind = IWT_CASE_QUIT };

	if (!data_cases(cx))
		special_cases(cx);
	if (!cx->ctl_dead)
		iwt_ctl_send_case(cx, &quit);
	iwt_disconnect(cx);
	printf("1..%u\n", n_ok + n_failed + n_skipped);
	printf("# %s: %u passed, %u failed, %u skipped\n", iwt_device(cx), n_ok, n_failed, n_skipped);
	return n_failed || cx->ctl_dead;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: iwt_verify -s [-a ADDRESS] [-p PORT] | -c ADDRESS [-p PORT] [options]\n"
		"  --max-size N      no message is longer (default 1 MiB)\n"
		"  --rounds N        rounds of mixed traffic (default 3)\n"
		"  --ops LIST        of send,write,read,write_imm,send_imm,fetch_add,cmp_swap\n"
		"                    (default all, or those that siw has)\n"
		"  --brief           only long messages and everything mixed, in one way of posting\n"
		"                    and polling\n"
		"  --full            every size in every way of posting and polling\n"
		"  --seed N          other random choices\n"
		"  --no-neg, --no-events, --no-wr   leave out groups of cases\n"
		"  --timeout S       for any single step (default 60)\n"
		"  --peer-siw, --local-siw   allow for what siw does differently\n"
		"  --corrupt         spoil an octet (the run must then fail)\n");
	exit(2);
}

static uint32_t parse_ops(char *s)
{
	uint32_t ops = 0;
	char *p;

	for (p = strtok(s, ","); p; p = strtok(NULL, ",")) {
		if (!strcmp(p, "send"))
			ops |= 1 << IWT_SEND;
		else if (!strcmp(p, "send_inv"))
			ops |= 1 << IWT_SEND_INV;
		else if (!strcmp(p, "write"))
			ops |= 1 << IWT_WRITE;
		else if (!strcmp(p, "read"))
			ops |= 1 << IWT_READ;
		else if (!strcmp(p, "write_imm"))
			ops |= 1 << IWT_WRITE_IMM;
		else if (!strcmp(p, "send_imm"))
			ops |= 1 << IWT_SEND_IMM;
		else if (!strcmp(p, "fetch_add"))
			ops |= 1 << IWT_FETCH_ADD;
		else if (!strcmp(p, "cmp_swap"))
			ops |= 1 << IWT_CMP_SWAP;
		else
			usage();
	}
	return ops;
}

enum { O_MAX = 256, O_ROUNDS, O_OPS, O_BRIEF, O_FULL, O_SEED, O_NONEG, O_NOEV, O_NOWR,
       O_TIMEOUT, O_PSIW, O_LSIW, O_CORRUPT };

static const struct option longopts[] = {
	{ "max-size", 1, NULL, O_MAX }, { "rounds", 1, NULL, O_ROUNDS }, { "ops", 1, NULL, O_OPS },
	{ "brief", 0, NULL, O_BRIEF }, { "full", 0, NULL, O_FULL }, { "seed", 1, NULL, O_SEED },
	{ "no-neg", 0, NULL, O_NONEG }, { "no-events", 0, NULL, O_NOEV }, { "no-wr", 0, NULL, O_NOWR },
	{ "timeout", 1, NULL, O_TIMEOUT }, { "peer-siw", 0, NULL, O_PSIW },
	{ "local-siw", 0, NULL, O_LSIW }, { "corrupt", 0, NULL, O_CORRUPT }, { 0 }
};

static void set_option(struct iwt_opts *o, int c)
{
	switch (c) {
	case 's': o->server = true; break;
	case 'c': case 'a': o->addr = optarg; break;
	case 'p': o->port = atoi(optarg); break;
	case O_MAX: o->max_size = strtoull(optarg, NULL, 0); break;
	case O_ROUNDS: o->rounds = atoi(optarg); break;
	case O_OPS: o->ops = parse_ops(optarg); break;
	case O_BRIEF: o->brief = true; break;
	case O_FULL: o->full = true; break;
	case O_SEED: o->seed = strtoul(optarg, NULL, 0); break;
	case O_NONEG: o->no_neg = true; break;
	case O_NOEV: o->no_events = true; break;
	case O_NOWR: o->no_wr = true; break;
	case O_TIMEOUT: o->timeout = atoi(optarg); break;
	case O_PSIW: o->peer_siw = true; break;
	case O_LSIW: o->local_siw = true; break;
	case O_CORRUPT: o->corrupt = true; break;
	default: usage();
	}
}

int main(int argc, char **argv)
{
	static struct iwt_ctx cx;
	int c, rc;

	cx.o = (struct iwt_opts) { .port = 7471, .max_size = 1 << 20, .timeout = 60, .rounds = 3,
				   .seed = 1, .ops = 1 << IWT_SEND | 1 << IWT_WRITE | 1 << IWT_READ |
				   IWT_KINDS_7306 };
	while ((c = getopt_long(argc, argv, "sc:a:p:", longopts, NULL)) != -1)
		set_option(&cx.o, c);
	if (optind != argc || (!cx.o.server && !cx.o.addr))
		usage();
	if (cx.o.local_siw || cx.o.peer_siw)
		cx.o.ops &= ~IWT_KINDS_7306;
	signal(SIGPIPE, SIG_IGN);
	if (iwt_listen(&cx) || iwt_ctl_open(&cx)) {
		fprintf(stderr, "# %s\n", cx.err);
		return 1;
	}
	rc = cx.o.server ? serve(&cx) : drive(&cx);
	if (cx.mr && ibv_dereg_mr(cx.mr))
		rc = 1;
	if (cx.pd && ibv_dealloc_pd(cx.pd))
		rc = 1;
	if (cx.arena && iwt_arena_drop(&cx))
		rc = 1;
	return rc;
}
