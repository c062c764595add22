// SPDX-License-Identifier: GPL-2.0
/*
 * Delays kernel functions at their beginning and at their end, for a random time. Meanwhile other
 * processors reach code that seldom runs at the same time as these functions. So a test can find
 * races. The parameter "functions" lists the functions:
 *
 *	modprobe iwt_slow functions=rdma_get_gid_attr,... us=2000 one_in=1
 *
 * us: longest delay in microseconds (2000). one_in=N: each beginning and each end of a function
 * is delayed with the probability 1 / N (N is 1 by default). The module needs kernel probes,
 * which User-Mode Linux does not have.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#define MOST	32

static char *functions[MOST];
static int count;
module_param_array(functions, charp, &count, 0444);
MODULE_PARM_DESC(functions, "Names of functions");

static unsigned int us = 2000;
module_param(us, uint, 0644);
MODULE_PARM_DESC(us, "Microseconds that it takes at most");

static unsigned int one_in = 1;
module_param(one_in, uint, 0644);
MODULE_PARM_DESC(one_in, "One call of so many, at random, is slow");

static struct kretprobe *probes[MOST];

/* The handlers of probes run in any context, so this function spins and does not sleep. */
static int take_time(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned int rest;

	if (get_random_u32() % max(one_in, 1u))
		return 0;
	for (rest = get_random_u32() % (us + 1); rest; rest--)
		udelay(1);
	return 0;
}

static int slow_down(char *name, struct kretprobe **made)
{
	struct kretprobe *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	p->kp.symbol_name = name;
	p->entry_handler = take_time;
	p->handler = take_time;
	p->maxactive = 64;
	err = register_kretprobe(p);
	if (err) {
		pr_err("iwt_slow: %s: error %d\n", name, err);
		kfree(p);
		return err;
	}
	*made = p;
	return 0;
}

static void restore(void)
{
	int i;

	for (i = 0; i < count; i++) {
		if (!probes[i])
			continue;
		unregister_kretprobe(probes[i]);
		kfree(probes[i]);
	}
}

static int __init load(void)
{
	int i, err = count ? 0 : -EINVAL;

	for (i = 0; !err && i < count; i++)
		err = slow_down(functions[i], &probes[i]);
	if (err)
		restore();
	return err;
}

static void __exit unload(void)
{
	restore();
}

module_init(load);
module_exit(unload);
MODULE_DESCRIPTION("Makes functions of the kernel slow, for tests");
MODULE_LICENSE("GPL");
