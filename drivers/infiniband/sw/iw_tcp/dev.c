// SPDX-License-Identifier: GPL-2.0
/* The list of all devices: lookup, addresses and GUIDs. */
#include "dev.h"

#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/unaligned.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>

static DEFINE_MUTEX(devs_lock);
static struct list_head devs __guarded_by(&devs_lock) = LIST_HEAD_INIT(devs);

/**
 * iwt_dev_set_addr() - copy the link layer address of the net device, or choose a random address
 * @dev: device
 *
 * An address of another length than Ethernet's is not used. The address of a tunnel, for example,
 * is the IP address of the tunnel's end, which a second tunnel may have, too. A random address
 * stays the same as long as the net device has no Ethernet address. The caller holds RTNL, or the
 * device is not registered yet.
 */
void iwt_dev_set_addr(struct iwt_dev *dev)
{
	const struct net_device *netdev = dev->netdev;

	if (netdev->addr_len == ETH_ALEN && is_valid_ether_addr(netdev->dev_addr))
		ether_addr_copy(dev->addr, netdev->dev_addr);
	else if (!is_valid_ether_addr(dev->addr))
		eth_random_addr(dev->addr);
}

/**
 * iwt_dev_get_by_name() - find a registered device
 * @name: present name of the device
 * @net: network namespace of the caller
 *
 * In the mode "exclusive" of the RDMA core, a name may be unique only within a network namespace.
 * If several devices have the name @name, the function finds the device in @net. Process context,
 * may sleep.
 *
 * Return: the device with a reference for ib_device_put(); ERR_PTR(-ENODEV) if no device has the
 * name; ERR_PTR(-ENOTUNIQ) if several devices have the name, and none of them is in @net.
 */
struct iwt_dev *iwt_dev_get_by_name(const char *name, const struct net *net)
{
	struct iwt_dev *dev, *found = ERR_PTR(-ENODEV);
	bool unique = true;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, node) {
		if (strncmp(dev->ibdev.name, name, IB_DEVICE_NAME_MAX) ||
		    !ib_device_try_get(&dev->ibdev))
			continue;
		unique = IS_ERR(found);
		if (!unique)
			ib_device_put(&found->ibdev);
		found = dev;
		if (net_eq(read_pnet(&dev->ibdev.coredev.rdma_net), net)) {
			unique = true;
			break;
		}
	}
	mutex_unlock(&devs_lock);
	if (unique)
		return found;
	ib_device_put(&found->ibdev);
	return ERR_PTR(-ENOTUNIQ);
}

/**
 * iwt_dev_any() - is there a device for which a function returns true?
 * @is: the function
 * @arg: argument of @is
 *
 * Devices that are being added or removed are included. @is is called with devs_lock held.
 * Process context, may sleep.
 *
 * Return: true if so.
 */
bool iwt_dev_any(bool (*is)(const struct iwt_dev *dev, const void *arg), const void *arg)
{
	const struct iwt_dev *dev;
	bool found = false;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, node) {
		found = is(dev, arg);
		if (found)
			break;
	}
	mutex_unlock(&devs_lock);
	return found;
}

static bool guid_taken(__be64 guid)
	__must_hold(&devs_lock)
{
	const struct iwt_dev *dev;

	list_for_each_entry(dev, &devs, node)
		if (dev->ibdev.node_guid == guid)
			return true;
	return false;
}

/**
 * iwt_dev_enlist() - assign a unique GUID to a device, and add it to the list of all devices
 * @dev: device with an address
 *
 * The GUID is the EUI-64 of the address. A VLAN or a bridge has the same address as a net device
 * below it, but librdmacm identifies devices by their GUIDs. So if a GUID is in use, decrement
 * its middle two bytes, initially 0xfffe, until the GUID is free. Process context, may sleep.
 */
void iwt_dev_enlist(struct iwt_dev *dev)
{
	u8 guid[sizeof(__be64)];
	u16 middle = 0xfffe;

	addrconf_addr_eui48(guid, (const char *)dev->addr);
	mutex_lock(&devs_lock);
	do {
		put_unaligned_be16(middle--, guid + 3);
		memcpy(&dev->ibdev.node_guid, guid, sizeof(guid));
	} while (guid_taken(dev->ibdev.node_guid));
	list_add(&dev->node, &devs);
	mutex_unlock(&devs_lock);
}

/* Remove a device from the list of all devices. Process context, may sleep. */
void iwt_dev_delist(struct iwt_dev *dev)
{
	mutex_lock(&devs_lock);
	list_del(&dev->node);
	mutex_unlock(&devs_lock);
}
