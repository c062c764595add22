// SPDX-License-Identifier: GPL-2.0
/* /dev/iwt_dmabuf: exports memory as dma-bufs when programs request it (see iwt_dmabuf.h). */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "buffer.h"

static long make(void __user *arg)
{
	struct iwt_dmabuf_make m;
	int err;

	if (copy_from_user(&m, arg, sizeof(m)))
		return -EFAULT;
	err = iwt_dmabuf_make(&m);
	if (!err && copy_to_user(arg, &m, sizeof(m)))
		err = -EFAULT;
	return err;
}

static long look(void __user *arg)
{
	struct iwt_dmabuf_use use;
	int err;

	if (copy_from_user(&use, arg, sizeof(use)))
		return -EFAULT;
	err = iwt_dmabuf_look(&use);
	if (!err && copy_to_user(arg, &use, sizeof(use)))
		err = -EFAULT;
	return err;
}

static long control(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *p = (void __user *)arg;
	u32 fd;

	switch (cmd) {
	case IWT_DMABUF_MAKE:
		return make(p);
	case IWT_DMABUF_USE:
		return look(p);
	case IWT_DMABUF_REVOKE:
		return get_user(fd, (u32 __user *)p) ? -EFAULT : iwt_dmabuf_revoke(fd);
	}
	return -ENOTTY;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = control,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "iwt_dmabuf",
	.fops = &fops,
	.mode = 0666,
};

module_misc_device(device);
MODULE_DESCRIPTION("Memory for tests, as dma-bufs");
MODULE_LICENSE("GPL");
