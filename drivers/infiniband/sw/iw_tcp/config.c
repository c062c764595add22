// SPDX-License-Identifier: GPL-2.0
/*
 * Settings of a link in configfs, and the module parameters that are their defaults:
 *
 *   mkdir /sys/kernel/config/iw_tcp/iwt0
 *   echo required > /sys/kernel/config/iw_tcp/iwt0/crc
 *
 * A directory belongs to a link name, not to a device: the directory stays when the link is
 * deleted, and serves the next link with that name. If links of several network namespaces have
 * this name, the directory shows and changes the settings of the link in the namespace of the
 * process that reads or writes.
 */
#include "config.h"

#include <linux/configfs.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>
#include <rdma/ib_verbs.h>

#include "dev.h"

static const char * const crc_words[] = {
	[IWT_CRC_OFF]		= "off",
	[IWT_CRC_ON]		= "on",
	[IWT_CRC_REQUIRED]	= "required",
};

static const char * const zerocopy_words[] = {
	[IWT_ZEROCOPY_OFF]	= "off",
	[IWT_ZEROCOPY_AUTO]	= "auto",
	[IWT_ZEROCOPY_ALWAYS]	= "always",
};

/* A worker that polls, or an engine that spins, disables preemption too long for PREEMPT_RT. */
#ifdef CONFIG_INFINIBAND_IW_TCP_POLLING
#define CAN_POLL	(!IS_ENABLED(CONFIG_PREEMPT_RT))
#else
#define CAN_POLL	false
#endif

/*
 * Zero copy is not available with PREEMPT_RT, where softirqs are threads. In tests with
 * PREEMPT_RT, under load, TCP released the memory of a connection only seconds after a reset,
 * once after more than a minute. The completions had to wait for the release.
 */
#ifdef CONFIG_INFINIBAND_IW_TCP_ZEROCOPY
#define CAN_ZEROCOPY	(!IS_ENABLED(CONFIG_PREEMPT_RT))
#else
#define CAN_ZEROCOPY	false
#endif

#ifdef CONFIG_INFINIBAND_IW_TCP_DIRECT
#define CAN_DIRECT	true
#else
#define CAN_DIRECT	false
#endif

#ifdef CONFIG_INFINIBAND_IW_TCP_AHEAD
#define CAN_PLACE_AHEAD	true
#else
#define CAN_PLACE_AHEAD	false
#endif

/*
 * The default of direct_port: a dynamic port (RFC 6335 6), which is assigned to no service, above
 * the range from which Linux by default chooses the ports of clients (32768 to 60999).
 */
#define DIRECT_PORT	64791

static struct iwt_conf defaults = {
	.crc = IWT_CRC_ON,
	.mpa_rev = 2,
	.keepidle = 60,
	.user_timeout = 300,
	.polling = CAN_POLL,
	.direct_port = CAN_DIRECT ? DIRECT_PORT : 0,
};

/*
 * The parsers change nothing if a value is invalid. They return -ERANGE for a number out of
 * range, -EOPNOTSUPP for a value that this kernel or this build of the driver does not support,
 * and -EINVAL for any other error.
 */

/*
 * Convert a word to *@on: words with an odd index in the table mean true. kstrtobool() is
 * not used: it checks only the first character, and so accepts "100" and "none". Return: 0 or
 * -EINVAL.
 */
static int match_flag(const char *text, bool *on)
{
	static const char * const words[] = { "off", "on", "0", "1", "n", "y", "N", "Y" };
	int word = sysfs_match_string(words, text);

	*on = word & 1;
	return min(word, 0);
}

/* Accepts the words of crc_words, and the words of match_flag(), such as "1" for "on". */
static int parse_crc(const char *text, enum iwt_crc_policy *crc)
{
	int word = sysfs_match_string(crc_words, text);
	bool on;

	if (word < 0) {
		if (match_flag(text, &on))
			return -EINVAL;
		word = on ? IWT_CRC_ON : IWT_CRC_OFF;
	}
	WRITE_ONCE(*crc, word);
	return 0;
}

/* Accepts "on" only if @can is true: without its feature, a setting stays "off". */
static int parse_flag_if(const char *text, bool can, bool *flag)
{
	bool on;
	int err = match_flag(text, &on);

	if (err)
		return err;
	if (on && !can)
		return -EOPNOTSUPP;
	WRITE_ONCE(*flag, on);
	return 0;
}

static int parse_flag(const char *text, bool *flag)
{
	return parse_flag_if(text, true, flag);
}

static int parse_rev(const char *text, u8 *rev)
{
	u8 n;
	int err = kstrtou8(text, 0, &n);

	if (err)
		return err;
	if (n < 1 || n > 2)
		return -ERANGE;
	WRITE_ONCE(*rev, n);
	return 0;
}

/* Accepts a number of seconds, up to MAX_TCP_KEEPIDLE (32767). */
static int parse_seconds(const char *text, u16 *seconds)
{
	u16 n;
	int err = kstrtou16(text, 0, &n);

	if (err)
		return err;
	if (n > MAX_TCP_KEEPIDLE)
		return -ERANGE;
	WRITE_ONCE(*seconds, n);
	return 0;
}

/* Accepts a value without ECN bits: TCP itself sets these bits (RFC 3168). */
static int parse_tos(const char *text, u8 *tos)
{
	u8 n;
	int err = kstrtou8(text, 0, &n);

	if (err)
		return err;
	if (n & INET_ECN_MASK)
		return -EINVAL;
	WRITE_ONCE(*tos, n);
	return 0;
}

static int parse_zerocopy(const char *text, enum iwt_zerocopy *zerocopy)
{
	int word = sysfs_match_string(zerocopy_words, text);

	if (word < 0)
		return word;
	if (word != IWT_ZEROCOPY_OFF && !CAN_ZEROCOPY)
		return -EOPNOTSUPP;
	WRITE_ONCE(*zerocopy, word);
	return 0;
}

static int parse_polling(const char *text, bool *polling)
{
	return parse_flag_if(text, CAN_POLL, polling);
}

/* Accepts a TCP port, or 0 to refuse direct connections. */
static int parse_direct_port(const char *text, u16 *port)
{
	u16 n;
	int err = kstrtou16(text, 0, &n);

	if (err)
		return err;
	if (n && !CAN_DIRECT)
		return -EOPNOTSUPP;
	WRITE_ONCE(*port, n);
	return 0;
}

static int parse_ahead(const char *text, bool *ahead)
{
	return parse_flag_if(text, CAN_PLACE_AHEAD, ahead);
}

#define crc_word(crc)	crc_words[crc]
#define zerocopy_word(z)	zerocopy_words[z]
#define flag_word(flag)	((flag) ? "on" : "off")
#define number(n)	(n)

/* Defines the operations of a module parameter that needs its own parser. */
#define IWT_PARAM_OPS(_name, _field, _fmt, _show, _parse)		\
static int _name##_param_set(const char *text,				\
			     const struct kernel_param *kp)		\
{									\
	return _parse(text, kp->arg);					\
}									\
									\
static int _name##_param_get(char *buf, const struct kernel_param *kp)	\
{									\
	return sysfs_emit(buf, _fmt "\n",				\
			  _show(READ_ONCE(defaults._field)));		\
}									\
									\
static const struct kernel_param_ops _name##_param_ops = {		\
	.set = _name##_param_set,					\
	.get = _name##_param_get,					\
}

IWT_PARAM_OPS(crc, crc, "%s", crc_word, parse_crc);
IWT_PARAM_OPS(rev, mpa_rev, "%u", number, parse_rev);
IWT_PARAM_OPS(keepidle, keepidle, "%u", number, parse_seconds);
IWT_PARAM_OPS(user_timeout, user_timeout, "%u", number, parse_seconds);
IWT_PARAM_OPS(tos, tos, "%u", number, parse_tos);
IWT_PARAM_OPS(zerocopy, zerocopy, "%s", zerocopy_word, parse_zerocopy);
IWT_PARAM_OPS(polling, polling, "%s", flag_word, parse_polling);
IWT_PARAM_OPS(direct_port, direct_port, "%u", number, parse_direct_port);
IWT_PARAM_OPS(ahead, ahead, "%s", flag_word, parse_ahead);

module_param_cb(crc, &crc_param_ops, &defaults.crc, 0644);
MODULE_PARM_DESC(crc, "CRC32c of new links: on (default), off or required");
module_param_named(markers, defaults.markers, bool, 0644);
MODULE_PARM_DESC(markers, "New links request MPA markers (default: off)");
module_param_cb(mpa_revision, &rev_param_ops, &defaults.mpa_rev, 0644);
MODULE_PARM_DESC(mpa_revision, "Highest MPA revision of new links: 2 (default) or 1");
module_param_named(rdmac_permissive, defaults.rdmac, bool, 0644);
MODULE_PARM_DESC(rdmac_permissive, "New links accept RDMAC peers (default: off)");
module_param_named(large_fpdus, defaults.large, bool, 0644);
MODULE_PARM_DESC(large_fpdus, "New links offer FPDUs longer than a segment (default: off)");
module_param_cb(keepidle, &keepidle_param_ops, &defaults.keepidle, 0644);
MODULE_PARM_DESC(keepidle,
		 "Idle seconds until connections of new links probe the peer (default: 60)");
module_param_cb(user_timeout, &user_timeout_param_ops, &defaults.user_timeout, 0644);
MODULE_PARM_DESC(user_timeout,
		 "Seconds until a connection of new links to a silent peer ends (default: 300)");
module_param_cb(tos, &tos_param_ops, &defaults.tos, 0644);
MODULE_PARM_DESC(tos, "Type of service of connections of new links (default: 0)");
module_param_cb(zerocopy, &zerocopy_param_ops, &defaults.zerocopy, 0644);
MODULE_PARM_DESC(zerocopy, "Zero copy of new links: off (default), auto or always");
module_param_cb(polling, &polling_param_ops, &defaults.polling, 0644);
MODULE_PARM_DESC(polling, "Workers of new links poll, and engines spin: on (default) or off");
module_param_cb(direct_port, &direct_port_param_ops, &defaults.direct_port, 0644);
MODULE_PARM_DESC(direct_port,
		 "TCP port of direct connections of new links (default: 64791); 0: none");
module_param_cb(ahead, &ahead_param_ops, &defaults.ahead, 0644);
MODULE_PARM_DESC(ahead, "New links place data that arrive behind a gap: off (default) or on");

/**
 * iwt_conf_defaults() - initialize the settings of a new link from the module parameters
 * @conf: receives the settings
 *
 * Any context. Later changes of the parameters do not affect this link.
 */
void iwt_conf_defaults(struct iwt_conf *conf)
{
	conf->crc = READ_ONCE(defaults.crc);
	conf->markers = READ_ONCE(defaults.markers);
	conf->mpa_rev = READ_ONCE(defaults.mpa_rev);
	conf->rdmac = READ_ONCE(defaults.rdmac);
	conf->large = READ_ONCE(defaults.large);
	conf->keepidle = READ_ONCE(defaults.keepidle);
	conf->user_timeout = READ_ONCE(defaults.user_timeout);
	conf->tos = READ_ONCE(defaults.tos);
	conf->zerocopy = READ_ONCE(defaults.zerocopy);
	conf->polling = READ_ONCE(defaults.polling);
	conf->direct_port = READ_ONCE(defaults.direct_port);
	conf->ahead = READ_ONCE(defaults.ahead);
}

static struct iwt_dev *get_dev(struct config_item *item)
{
	return iwt_dev_get_by_name(config_item_name(item), current->nsproxy->net_ns);
}

/* Defines the show and store functions of the file @_name, for the field @_field of the link. */
#define IWT_CONF_ATTR(_name, _field, _format, _value, _parse)		\
static ssize_t link_##_name##_show(struct config_item *item, char *page)\
{									\
	struct iwt_dev *dev = get_dev(item);				\
	ssize_t n;							\
									\
	if (IS_ERR(dev))						\
		return PTR_ERR(dev);					\
	n = sysfs_emit(page, _format "\n",				\
		       _value(READ_ONCE(dev->conf._field)));		\
	ib_device_put(&dev->ibdev);					\
	return n;							\
}									\
									\
static ssize_t link_##_name##_store(struct config_item *item,		\
				    const char *page, size_t count)	\
{									\
	struct iwt_dev *dev = get_dev(item);				\
	int err;							\
									\
	if (IS_ERR(dev))						\
		return PTR_ERR(dev);					\
	err = _parse(page, &dev->conf._field);				\
	ib_device_put(&dev->ibdev);					\
	return err ?: count;						\
}									\
CONFIGFS_ATTR(link_, _name)

IWT_CONF_ATTR(crc, crc, "%s", crc_word, parse_crc);
IWT_CONF_ATTR(markers, markers, "%s", flag_word, parse_flag);
IWT_CONF_ATTR(mpa_revision, mpa_rev, "%u", number, parse_rev);
IWT_CONF_ATTR(rdmac_permissive, rdmac, "%s", flag_word, parse_flag);
IWT_CONF_ATTR(large_fpdus, large, "%s", flag_word, parse_flag);
IWT_CONF_ATTR(keepidle, keepidle, "%u", number, parse_seconds);
IWT_CONF_ATTR(user_timeout, user_timeout, "%u", number, parse_seconds);
IWT_CONF_ATTR(tos, tos, "%u", number, parse_tos);
IWT_CONF_ATTR(zerocopy, zerocopy, "%s", zerocopy_word, parse_zerocopy);
IWT_CONF_ATTR(polling, polling, "%s", flag_word, parse_polling);
IWT_CONF_ATTR(direct_port, direct_port, "%u", number, parse_direct_port);
IWT_CONF_ATTR(ahead, ahead, "%s", flag_word, parse_ahead);

static struct configfs_attribute *link_attrs[] = {
	&link_attr_crc,
	&link_attr_markers,
	&link_attr_mpa_revision,
	&link_attr_rdmac_permissive,
	&link_attr_large_fpdus,
	&link_attr_keepidle,
	&link_attr_user_timeout,
	&link_attr_tos,
	&link_attr_zerocopy,
	&link_attr_polling,
	&link_attr_direct_port,
	&link_attr_ahead,
	NULL
};

static void release_link(struct config_item *item)
{
	kfree(to_config_group(item));
}

static struct configfs_item_operations link_item_ops = {
	.release = release_link,
};

static const struct config_item_type link_type = {
	.ct_item_ops = &link_item_ops,
	.ct_attrs = link_attrs,
	.ct_owner = THIS_MODULE,
};

/* mkdir(2): the link must exist, so that a wrong name fails. */
static struct config_group *make_link(struct config_group *parent,
				      const char *name)
{
	struct iwt_dev *dev = iwt_dev_get_by_name(name, current->nsproxy->net_ns);
	struct config_group *group;

	if (IS_ERR(dev))
		return ERR_CAST(dev);
	ib_device_put(&dev->ibdev);
	group = kzalloc_obj(*group, GFP_KERNEL);
	if (!group)
		return ERR_PTR(-ENOMEM);
	config_group_init_type_name(group, name, &link_type);
	return group;
}

static struct configfs_group_operations subsys_group_ops = {
	.make_group = make_link,
};

static const struct config_item_type subsys_type = {
	.ct_group_ops = &subsys_group_ops,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem subsys = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "iw_tcp",
			.ci_type = &subsys_type,
		},
	},
};

/* Create the directory of the settings; process context. Return: 0 or -errno. */
int iwt_conf_init(void)
{
	config_group_init(&subsys.su_group);
	mutex_init(&subsys.su_mutex);
	return configfs_register_subsystem(&subsys);
}

/**
 * iwt_conf_exit() - remove the directory of the settings
 *
 * May sleep. Each subdirectory holds a reference to the module, so no subdirectory exists now.
 */
void iwt_conf_exit(void)
{
	configfs_unregister_subsystem(&subsys);
	mutex_destroy(&subsys.su_mutex);
}
