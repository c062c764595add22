// SPDX-License-Identifier: GPL-2.0
/*
 * A module that causes the fault that its parameter "fault" names, at the time when the module is
 * loaded. It is for the test of the gate (gate-test/run), which loads the module in a laboratory.
 * The gate must then report the fault, or must not report it (faults "elsewhere" and "slow").
 */
#include <linux/module.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/delay.h>
#include <linux/nsproxy.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "warn, oops, leak, overrun, inversion, stuck, race, elsewhere, namespace or slow");

static DEFINE_MUTEX(iwt_lab_a);
static DEFINE_MUTEX(iwt_lab_b);
static struct task_struct *stuck;

/* Acquires two locks in one order, and then in the other order. Only lockdep notices this. */
static void iwt_lab_inversion(void)
{
	mutex_lock(&iwt_lab_a);
	mutex_lock(&iwt_lab_b);
	mutex_unlock(&iwt_lab_b);
	mutex_unlock(&iwt_lab_a);
	mutex_lock(&iwt_lab_b);
	mutex_lock(&iwt_lab_a);
	mutex_unlock(&iwt_lab_a);
	mutex_unlock(&iwt_lab_b);
}

/*
 * Writes one byte behind an object. KASAN always reports this write. slub_debug reports it only
 * if, as here, the size of the object is the object size of its kmalloc cache.
 */
static void iwt_lab_overrun(void)
{
	size_t size = 128;
	char *object = kmalloc(size, GFP_KERNEL);

	if (!object)
		return;
	OPTIMIZER_HIDE_VAR(size);
	object[size] = 1;
	kfree(object);
}

static int iwt_lab_sleep(void *unused)
{
	while (!kthread_should_stop())
		msleep(10000);
	return 0;
}

/* Two threads increment the same counter without a lock. Only KCSAN notices this. */
static unsigned long counted, counted_elsewhere;

static int iwt_lab_count(void *unused)
{
	while (!kthread_should_stop()) {
		counted++;
		cond_resched();
	}
	return 0;
}

/*
 * The name of this function lacks the prefix "iwt_". So the gate treats the race as a race in the
 * rest of the kernel, and does not fail the run.
 */
static int lab_count_elsewhere(void *unused)
{
	while (!kthread_should_stop()) {
		counted_elsewhere++;
		cond_resched();
	}
	return 0;
}

/*
 * Runs two threads that execute @count at the same time, for three seconds. Return: 0, or -ENOMEM
 * if a thread could not be created
 */
static int iwt_lab_race(int (*count)(void *))
{
	struct task_struct *task[2];
	int i, n = 0;

	for (i = 0; i < 2; i++) {
		task[n] = kthread_run(count, NULL, "lab_count%d", i);
		if (!IS_ERR(task[n]))
			n++;
	}
	if (n == 2)
		msleep(3000);
	for (i = 0; i < n; i++)
		kthread_stop(task[i]);
	return n == 2 ? 0 : -ENOMEM;
}

static struct net *kept;

static void iwt_lab_let_go(struct work_struct *work)
{
	put_net(kept);
}

static DECLARE_DELAYED_WORK(let_go, iwt_lab_let_go);

/*
 * Takes a reference to the network namespace of this process. If @for_ever is true, never drops
 * the reference; otherwise drops it after 25 seconds.
 */
static void iwt_lab_keep(bool for_ever)
{
	kept = get_net(current->nsproxy->net_ns);
	if (!for_ever)
		schedule_delayed_work(&let_go, 25 * HZ);
}

static int __init iwt_lab_init(void)
{
	if (!strcmp(fault, "warn")) {
		WARN(1, "deliberate warning\n");
	} else if (!strcmp(fault, "oops")) {
		*(volatile int *)NULL = 0;
	} else if (!strcmp(fault, "leak")) {
		void *volatile lost = kmalloc(1000, GFP_KERNEL);

		lost = NULL;
	} else if (!strcmp(fault, "overrun")) {
		iwt_lab_overrun();
	} else if (!strcmp(fault, "inversion")) {
		iwt_lab_inversion();
	} else if (!strcmp(fault, "race")) {
		return iwt_lab_race(iwt_lab_count);
	} else if (!strcmp(fault, "elsewhere")) {
		return iwt_lab_race(lab_count_elsewhere);
	} else if (!strcmp(fault, "namespace") || !strcmp(fault, "slow")) {
		iwt_lab_keep(!strcmp(fault, "namespace"));
	} else if (!strcmp(fault, "stuck")) {
		stuck = kthread_run(iwt_lab_sleep, NULL, "lab_stuck");
		if (IS_ERR(stuck))
			return PTR_ERR(stuck);
	} else {
		return -EINVAL;
	}
	return 0;
}

static void __exit iwt_lab_exit(void)
{
	flush_delayed_work(&let_go);
	if (stuck)
		kthread_stop(stuck);
}

module_init(iwt_lab_init);
module_exit(iwt_lab_exit);
MODULE_DESCRIPTION("Deliberate faults, to test the laboratories' gate");
MODULE_LICENSE("GPL");
