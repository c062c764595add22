// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_faults LINK NETDEV ADDRESS [STRIDE]: lets allocations of the kernel fail.
 *
 * Loads the module, creates a link and objects of each kind, and connects to itself over ADDRESS,
 * an address of NETDEV. Each of these steps is repeated: at first the step's first allocation
 * fails, then its second allocation, and so on, until the step has no more allocations. (Two
 * steps leave out allocations that RDMA core or the loader of modules makes: @first and @most.)
 * If an allocation fails, the step must either fail with an error or succeed without the memory.
 * In both cases the step must leave nothing behind; the kernel's checkers and the gate of the
 * laboratory check this. Afterwards the step must succeed.
 *
 * In the first mode, only allocations that this thread makes in the kernel fail. In the other
 * modes ("anywhere"), allocations in any context fail while the step runs: in workers, in
 * softirqs, and in the other programs of the machine, which is idle apart from the test. With a
 * STRIDE of s, only every s-th allocation after the first 8 fails; this applies to the modes
 * "anywhere" and to loading the module. The results are printed in TAP.
 *
 * With IWT_FAULTS_VERBOSE=2 the kernel reports the call trace of each allocation that fails. With
 * IWT_FAULTS_ONLY=TEXT, allocations fail only in steps whose names contain TEXT; the steps that
 * other steps need are executed without failures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"

#define MOST	3000	/* maximum number of allocations of one step */
#define DENSE	8	/* with any stride, each of the first DENSE allocations of a step fails */

const char *iwt_link, *iwt_netdev, *iwt_address;
static unsigned int n_tests, n_bad, stride = 1;

enum { CALLER = 1 << 0, SLABS = 1 << 1, PAGES = 1 << 2, ANYWHERE = SLABS | PAGES };

static const struct {
	enum iwt_where where;
	const char *what;
} modes[] = {
	{ IWT_CALLER, "allocations" },
	{ IWT_SLABS, "slabs, anywhere," },
	{ IWT_PAGES, "pages, anywhere," },
};

struct step {
	const char *what;
	int (*make)(void);
	int (*make_n)(unsigned int n);	/* like @make, but calls iwt_arm(@n) itself */
	int (*undo)(void);
	unsigned int modes;		/* bits: CALLER, SLABS, PAGES */
	bool stay;			/* the following steps use the result of this step */
	bool needed;			/* other steps need this step */
	bool many;			/* STRIDE applies to this step in the first mode, too */
	unsigned int (*first)(void);	/* number of the first allocation to fail; NULL: 1 */
	unsigned int (*most)(void);	/* number of the last allocation; NULL: MOST */
	void (*before)(void);		/* called before the attempts; no allocation fails */
};

static void no_crc(void)
{
	iwt_set("crc", "off");
	iwt_set("zerocopy", "always");
}

static void crc(void)
{
	iwt_set("zerocopy", "off");
	iwt_set("crc", "on");
}

static void direct_port(void)
{
	iwt_set("direct_port", "64791");
}

/* Adds a second link for the step that needs it. one_link() removes it afterwards. */
static void two_links(void)
{
	if (iwt_second_add())
		iwt_die("a second link");
}

static void one_link(void)
{
	if (iwt_second_del())
		iwt_die("one link");
}

static void unload(void)
{
	if (iwt_module_unload())
		iwt_die("the module is in use");
}

#define NEEDED	.stay = true, .needed = true

static const struct step steps[] = {
	{ "the module", iwt_module_load, NULL, iwt_module_unload, CALLER, NEEDED,
	  .many = true, .before = unload, .first = iwt_module_first },
	{ "a link", iwt_link_add, NULL, iwt_link_del, CALLER, NEEDED, .most = iwt_link_most },
	{ "a link is deleted", iwt_link_drop, NULL, iwt_link_add, CALLER },
	{ "a directory of settings", iwt_settings_make, NULL, iwt_settings_remove, CALLER, NEEDED },
	{ "events of the net device", iwt_netdev_events, NULL, iwt_nothing, CALLER },
	{ "a device is opened", iwt_open_device, NULL, iwt_close_device, CALLER, NEEDED,
	  .before = iwt_look },
	{ "a protection domain", iwt_make_pd, NULL, iwt_free_pd, CALLER, NEEDED },
	{ "a memory region of a page", iwt_make_mr_page, NULL, iwt_free_mr, CALLER },
	{ "a memory region", iwt_make_mr, NULL, iwt_free_mr, CALLER },
	{ "a large memory region", iwt_make_mr_large, NULL, iwt_free_mr, CALLER },
	{ "a memory region is reregistered", NULL, iwt_rereg_mr, iwt_free_mr, CALLER },
	{ "a memory region with on-demand paging", NULL, iwt_make_mr_odp, iwt_free_mr, CALLER },
	{ "a memory region of a dma-buf", NULL, iwt_make_mr_dmabuf, iwt_free_mr, CALLER },
	{ "a memory window", iwt_make_mw, NULL, iwt_free_mw, CALLER },
	{ "a completion channel", iwt_make_chan, NULL, iwt_free_chan, CALLER, NEEDED },
	{ "a completion queue is resized", NULL, iwt_resize_cq, iwt_free_cq, CALLER },
	{ "a completion queue", iwt_make_cq, NULL, iwt_free_cq, CALLER, NEEDED },
	{ "an extended completion queue", iwt_make_cq_ex, NULL, iwt_free_cq_ex, CALLER },
	{ "a queue pair", iwt_make_qp, NULL, iwt_free_qp, CALLER, NEEDED },
	{ "a shared receive queue", iwt_make_srq, NULL, iwt_free_srq, CALLER },
	{ "a shared receive queue is resized", NULL, iwt_resize_srq, iwt_free_srq, CALLER },
	{ "an extended queue pair", iwt_make_qp_ex, NULL, iwt_free_qp_ex, CALLER },
	{ "a listener on each of two links", iwt_listen_all, NULL, iwt_unlisten, CALLER,
	  .before = two_links },
	{ "a listener", iwt_listen, NULL, iwt_unlisten, CALLER, NEEDED, .before = one_link },
	{ "an end that connects", iwt_resolve, NULL, iwt_unresolve, CALLER },
	{ "a connection, at its active end", NULL, iwt_connect, iwt_disconnect, CALLER },
	{ "a connection, at its passive end", NULL, iwt_accept_all, iwt_disconnect, CALLER },
	{ "a connection, while it is accepted", NULL, iwt_accept_only, iwt_disconnect, CALLER },
	{ "work requests", NULL, iwt_post, iwt_disconnect, CALLER | ANYWHERE },
	{ "a socket is attached by the initiator", NULL, iwt_attach_initiator, iwt_attach_end, CALLER },
	{ "a socket is attached by the responder", NULL, iwt_attach_responder, iwt_attach_end, CALLER },
	{ "a peer connects and ends the stream", iwt_knock, NULL, iwt_nothing, ANYWHERE },
	{ "attached sockets and data over them", iwt_attach_both, NULL, iwt_nothing, ANYWHERE },
	{ "a direct connection, at its first end", NULL, iwt_direct_first, iwt_attach_end, CALLER,
	  .before = direct_port },
	{ "a direct connection, at its second end", NULL, iwt_direct_second, iwt_attach_end, CALLER },
	{ "a direct connection, and a message that waits for a receive", iwt_direct_both, NULL,
	  iwt_nothing, ANYWHERE },
	{ "work requests with zero copy", NULL, iwt_post, iwt_disconnect, CALLER | ANYWHERE,
	  .before = no_crc },
};

/*
 * Makes one attempt in which the @n-th allocation fails. Sets *@failed to false if the
 * step made fewer allocations, so that none failed. Return: the result of the step.
 */
static int attempt(const struct step *s, unsigned int n, bool *failed)
{
	int rc;

	errno = 0;
	if (s->make_n) {
		rc = s->make_n(n);
	} else {
		iwt_arm(n);
		rc = s->make();
	}
	*failed = iwt_disarm();
	return rc;
}

static int without(const struct step *s)
{
	errno = 0;
	return s->make_n ? s->make_n(0) : s->make();
}

struct tally {
	unsigned int fails, errors;
	int rc;
};

/*
 * Makes one attempt in which the @n-th allocation fails, and undoes the step. If the attempt
 * failed, makes another attempt without a failing allocation, which must succeed. Return:
 * description of what went wrong, or NULL.
 */
static const char *one(const struct step *s, unsigned int n, bool *failed, struct tally *t)
{
	int rc = attempt(s, n, failed);

	t->rc = rc;
	t->fails += *failed;
	t->errors += *failed && rc && errno == ENOMEM;
	if (*failed && rc && errno != ENOMEM)
		printf("# %u of %s: %s\n", n, s->what, strerror(errno));
	if (rc == IWT_WRONG) {
		s->undo();
		return "the step did something wrong";
	}
	if (rc && !*failed)
		return strerror(errno);
	if ((!rc || s->make_n) && s->undo())
		return "the step cannot be undone";
	if (!rc)
		return NULL;
	if (without(s))
		return "the step fails although no allocation fails";
	return s->undo() ? "the step cannot be undone" : NULL;
}

static void report(const struct step *s, unsigned int mode, const struct tally *t, const char *why)
{
	/* an allocation of a slab needs a page only if the caches of slabs are empty */
	const char *none = !t->fails && !why ? " # SKIP no page of the system was used" : "";

	printf("%sok %u - %s: %u %s fail%s\n", why ? "not " : "", ++n_tests, s->what, t->fails,
	       modes[mode].what, none);
	printf("# the step reported %u errors%s%s\n", t->errors, why ? "; " : "", why ?: "");
	fflush(stdout);
	n_bad += !!why;
}

/* Lets one allocation of the step after another fail. Return: as one(). */
static const char *all(const struct step *s, unsigned int mode, struct tally *t)
{
	bool anywhere = 1u << mode & ANYWHERE, failed = true;
	bool some = anywhere || s->many;
	unsigned int n, most, calm = 0;
	const char *why = NULL;

	n = s->first ? s->first() : 1;
	most = s->most ? s->most() : MOST;
	while (!why && n <= most && calm < (anywhere ? 2 : 1)) {
		why = one(s, n, &failed, t);
		/*
		 * end when no allocation fails any more; "anywhere" after two such attempts in a
		 * row, because processors disturb each other's count
		 */
		calm = failed ? 0 : calm + 1;
		if (failed)
			n += some && n >= DENSE ? stride : 1;
	}
	if (!why && n > MOST)
		why = "the step has too many allocations";
	return why;
}

static void try(const struct step *s, unsigned int mode)
{
	struct tally t = {};
	const char *why;

	iwt_aim(modes[mode].where);
	why = all(s, mode, &t);
	/* if the kernel's caches were empty, first() may have counted too many allocations */
	if (!why && !t.fails && s->first)
		why = all(s, mode, &t);
	if (!why && !t.fails && 1u << mode != PAGES)
		why = "no allocation failed";
	report(s, mode, &t, why);
	if (why && s->stay)
		iwt_die(s->what);
}

static bool wanted(const struct step *s)
{
	const char *only = getenv("IWT_FAULTS_ONLY");

	return !only || strstr(s->what, only);
}

static void run(const struct step *s)
{
	unsigned int mode;

	if (!wanted(s) && !s->needed && !s->before)
		return;
	if (s->before)
		s->before();
	for (mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++)
		if (s->modes & 1u << mode && wanted(s))
			try(s, mode);
	if (s->stay && without(s))
		iwt_die(s->what);
}

static void end(void)
{
	crc();
	if (iwt_unlisten() || iwt_free_qp() || iwt_free_cq() || iwt_free_chan() || iwt_free_pd() ||
	    iwt_close_device() || iwt_settings_remove())
		iwt_die("ending");
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 4)
		return 2;
	iwt_link = argv[1];
	iwt_netdev = argv[2];
	iwt_address = argv[3];
	if (argc > 4)
		stride = strtoul(argv[4], NULL, 10);
	iwt_faults_open();
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		run(&steps[i]);
	end();
	printf("1..%u\n", n_tests);
	return !!n_bad;
}
