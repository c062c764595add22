// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel consumer that tests RDMA devices.
 *
 * To run a group of cases, write a line to the file "run" of this module's debugfs directory. The
 * write returns when the cases are done. The line is:
 *
 *	GROUP MODE FD_A FD_B ADDRESS_A ADDRESS_B
 *
 * GROUP is a name in the table groups. MODE is a name in the table modes: it selects how the
 * consumer polls its completion queues. FD_A and FD_B are the writer's descriptors of two network
 * namespaces, which have the addresses ADDRESS_A and ADDRESS_B. Afterwards the file
 * "results" contains the results in the Test Anything Protocol (TAP). The groups "named" and
 * "moved" wait until a line is written to the file "go". The lines "begin" and "end" in the file
 * "reader" begin and end an RCU read-side critical section (reader.c); the write of "begin"
 * returns when the critical section has ended.
 */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "kt.h"

#define KT_RESULTS	100

struct kt_result {
	const char *name;
	bool ok;
	unsigned int took_ms;
	char why[200];
};

static const struct {
	const char *name;
	const struct kt_case *cases;
} groups[] = {
	{ "data", iwt_kt_data },
	{ "inval", iwt_kt_inval },
	{ "gaps", iwt_kt_gaps },
	{ "errors", iwt_kt_errors },
	{ "local", iwt_kt_local },
	{ "drain", iwt_kt_drain },
	{ "context", iwt_kt_context },
	{ "ext", iwt_kt_ext },
	{ "resize", iwt_kt_resize },
	{ "global", iwt_kt_global },
	{ "owner", iwt_kt_owner },
	{ "named", iwt_kt_named },
	{ "moved", iwt_kt_moved },
	{ "srq", iwt_kt_srq },
	{ "locked", iwt_kt_locked },
};

static const char * const modes[KT_MODES] = {
	[KT_DIRECT]	= "direct",
	[KT_SOFTIRQ]	= "softirq",
	[KT_WORKQUEUE]	= "workqueue",
	[KT_UNBOUND]	= "unbound",
	[KT_HANDLER]	= "handler",
};

static DEFINE_MUTEX(kt_lock);
static struct kt_result results[KT_RESULTS];
static unsigned int n_results;
static bool finished;
static struct dentry *kt_dir;

static bool run_case(struct kt_run *run, const struct kt_case *k)
{
	struct kt_result *r = &results[n_results++];
	struct kt_conn *c;
	ktime_t began = ktime_get();
	bool stuck;

	r->name = k->name;
	r->ok = false;
	r->why[0] = 0;
	c = iwt_kt_open(run, k->idle, r->why);
	if (!c)
		return true;
	r->ok = !k->fn(c);
	if (r->ok && (iwt_kt_in_order(&c->c) || iwt_kt_in_order(&c->s)))
		r->ok = false;
	strscpy(r->why, c->why, sizeof(r->why));
	if (!r->ok && !r->why[0])
		strscpy(r->why, "failed", sizeof(r->why));
	stuck = c->stuck;
	if (!stuck)
		iwt_kt_close(c);
	r->took_ms = ktime_ms_delta(ktime_get(), began);
	return !stuck;
}

static void run_cases(struct kt_run *run, const struct kt_case *k)
{
	for (; k->name && n_results < KT_RESULTS; k++) {
		if (k->modes && !(k->modes & BIT(run->mode)))
			continue;
		if (!run_case(run, k)) {
			/* a thread still uses the connection: never unload the module */
			__module_get(THIS_MODULE);
			return;
		}
	}
	finished = !k->name;
}

static int parse(struct kt_run *run, char *line, int *group)
{
	char *word[6];
	int i, fd, err;

	for (i = 0; i < 6; i++) {
		do
			word[i] = strsep(&line, "\n ");
		while (word[i] && !*word[i]);
		if (!word[i])
			return -EINVAL;
	}
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(groups[i].name, word[0]))
			break;
	*group = i;
	i = match_string(modes, KT_MODES, word[1]);
	if (*group == ARRAY_SIZE(groups) || i < 0)
		return -EINVAL;
	run->mode = i;
	for (i = 0; i < 2; i++) {
		run->addr[i].sin_family = AF_INET;
		if (!in4_pton(word[4 + i], -1,
			      (u8 *)&run->addr[i].sin_addr.s_addr, -1, NULL))
			return -EINVAL;
		err = kstrtoint(word[2 + i], 10, &fd);
		if (err)
			return err;
		run->net[i] = get_net_ns_by_fd(fd);
		if (IS_ERR(run->net[i])) {
			err = PTR_ERR(run->net[i]);
			run->net[i] = NULL;
			return err;
		}
	}
	return 0;
}

static ssize_t kt_run_write(struct file *file, const char __user *from,
			    size_t len, loff_t *pos)
{
	struct kt_run run = {};
	int group, i, err;
	char *line;

	if (len > 200)
		return -EINVAL;
	line = memdup_user_nul(from, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = parse(&run, line, &group);
	kfree(line);
	if (!err) {
		mutex_lock(&kt_lock);
		n_results = 0;
		finished = false;
		run_cases(&run, groups[group].cases);
		mutex_unlock(&kt_lock);
	}
	for (i = 0; i < 2; i++)
		if (run.net[i])
			put_net(run.net[i]);
	return err ?: len;
}

static const struct file_operations kt_run_fops = {
	.owner = THIS_MODULE,
	.write = kt_run_write,
};

static ssize_t kt_go_write(struct file *file, const char __user *from,
			   size_t len, loff_t *pos)
{
	iwt_kt_go();
	return len;
}

static const struct file_operations kt_go_fops = {
	.owner = THIS_MODULE,
	.write = kt_go_write,
};

static ssize_t kt_reader_write(struct file *file, const char __user *from,
			       size_t len, loff_t *pos)
{
	char line[8] = {};
	int err = 0;

	if (len >= sizeof(line) || copy_from_user(line, from, len))
		return -EINVAL;
	if (!strncmp(line, "begin", 5))
		err = iwt_kt_read_begin();
	else
		iwt_kt_read_end();
	return err ?: len;
}

static ssize_t kt_reader_read(struct file *file, char __user *to, size_t len,
			      loff_t *pos)
{
	return simple_read_from_buffer(to, len, pos,
				       iwt_kt_reading() ? "1\n" : "0\n", 2);
}

static const struct file_operations kt_reader_fops = {
	.owner = THIS_MODULE,
	.read = kt_reader_read,
	.write = kt_reader_write,
};

static int kt_results_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	mutex_lock(&kt_lock);
	for (i = 0; i < n_results; i++) {
		const struct kt_result *r = &results[i];

		seq_printf(m, "%sok %u - %s\n", r->ok ? "" : "not ", i + 1,
			   r->name);
		if (!r->ok)
			seq_printf(m, "# %s: %s\n", r->name, r->why);
		if (r->took_ms >= MSEC_PER_SEC)
			seq_printf(m, "# %s: %u ms\n", r->name, r->took_ms);
	}
	if (finished)
		seq_printf(m, "1..%u\n", n_results);
	mutex_unlock(&kt_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kt_results);

static int __init kt_init(void)
{
	kt_dir = debugfs_create_dir("iwt_ktest", NULL);
	if (IS_ERR(kt_dir))
		return PTR_ERR(kt_dir);
	debugfs_create_file_unsafe("run", 0200, kt_dir, NULL, &kt_run_fops);
	debugfs_create_file_unsafe("go", 0200, kt_dir, NULL, &kt_go_fops);
	debugfs_create_file_unsafe("reader", 0600, kt_dir, NULL,
				   &kt_reader_fops);
	debugfs_create_file("results", 0400, kt_dir, NULL, &kt_results_fops);
	return 0;
}

static void __exit kt_exit(void)
{
	debugfs_remove_recursive(kt_dir);
}

module_init(kt_init);
module_exit(kt_exit);
MODULE_DESCRIPTION("Tests of RDMA devices by a consumer in the kernel");
MODULE_LICENSE("GPL");
