// SPDX-License-Identifier: GPL-2.0
/*
 * The counters that tools expect of every RDMA device, in
 * /sys/class/infiniband/DEVICE/ports/1/counters: octets and packets of the port, and its errors.
 *
 * RDMA core makes the directory for each device that has the operation process_mad, and gets the
 * values by management datagrams (MADs): requests of the class of performance management
 * (InfiniBand specification, 16.1). Only RDMA core makes such requests. A peer or a process can't
 * send a request, because the port, without RDMA_CORE_CAP_IB_MAD, has no queue pair for MADs.
 */
#include "stats_port.h"

#include <linux/device.h>
#include <linux/minmax.h>
#include <linux/sysfs.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "stats_qp.h"

/* Version of the class of performance management, and version of the format of MADs. */
#define PMA_VERSION	1
/* PortXmitData and PortRcvData count units of four octets. */
#define OCTETS_PER_UNIT	4

/*
 * Some collectors (node_exporter 1.5) fail on a device without board_id, and use board_id and
 * hca_type as labels.
 */
static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "iw_tcp\n");
}
static DEVICE_ATTR_RO(board_id);

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "iw_tcp\n");
}
static DEVICE_ATTR_RO(hca_type);

static struct attribute *device_attrs[] = {
	&dev_attr_board_id.attr,
	&dev_attr_hca_type.attr,
	NULL
};

const struct attribute_group iwt_port_device_group = {
	.attrs = device_attrs,
};

/* Counters of 8, 16 and 32 bits do not wrap: they stop at their maximum. */
static u8 to_u8(u64 n)
{
	return min_t(u64, n, U8_MAX);
}

static __be16 to_be16(u64 n)
{
	return cpu_to_be16(min_t(u64, n, U16_MAX));
}

static __be32 to_be32(u64 n)
{
	return cpu_to_be32(min_t(u64, n, U32_MAX));
}

static u64 data_units(struct iwt_dev *dev, enum iwt_counter octets)
{
	return iwt_counters_sum(dev, octets) / OCTETS_PER_UNIT;
}

static void fill_class(struct ib_class_port_info *info)
{
	info->base_version = PMA_VERSION;
	info->class_version = PMA_VERSION;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH | IB_PMA_CLASS_CAP_XMIT_WAIT;
}

/*
 * Fill in the counters of errors and of stalls, and the counters of data and packets in 32 bits;
 * fill_ext() fills in the latter in 64 bits. Counters that do not apply to this device stay 0.
 */
static void fill_counters(struct iwt_dev *dev, struct ib_pma_portcounters *p)
{
	p->link_downed_counter = to_u8(iwt_counters_sum(dev, IWT_C_LINK_DOWN));
	p->port_rcv_errors = to_be16(iwt_counters_sum(dev, IWT_C_RX_CRC_ERR) +
				     iwt_counters_sum(dev, IWT_C_RX_PROTO_ERR) +
				     iwt_counters_sum(dev, IWT_C_MPA_BAD));
	p->port_rcv_constraint_errors = to_u8(iwt_counters_sum(dev, IWT_C_RX_ACCESS_ERR));
	p->port_xmit_discards = to_be16(iwt_counters_sum(dev, IWT_C_CONN_LOST));
	p->port_xmit_data = to_be32(data_units(dev, IWT_C_TX_BYTES));
	p->port_rcv_data = to_be32(data_units(dev, IWT_C_RX_BYTES));
	p->port_xmit_packets = to_be32(iwt_counters_sum(dev, IWT_C_TX_SEGS));
	p->port_rcv_packets = to_be32(iwt_counters_sum(dev, IWT_C_RX_SEGS));
	p->port_xmit_wait = to_be32(iwt_counters_sum(dev, IWT_C_TX_BLOCKED));
}

/* TCP has no multicast, so all packets are unicast. */
static void fill_ext(struct iwt_dev *dev, struct ib_pma_portcounters_ext *p)
{
	p->port_xmit_data = cpu_to_be64(data_units(dev, IWT_C_TX_BYTES));
	p->port_rcv_data = cpu_to_be64(data_units(dev, IWT_C_RX_BYTES));
	p->port_xmit_packets = cpu_to_be64(iwt_counters_sum(dev, IWT_C_TX_SEGS));
	p->port_rcv_packets = cpu_to_be64(iwt_counters_sum(dev, IWT_C_RX_SEGS));
	p->port_unicast_xmit_packets = p->port_xmit_packets;
	p->port_unicast_rcv_packets = p->port_rcv_packets;
}

static bool fill(struct iwt_dev *dev, __be16 attribute, void *data)
{
	switch (attribute) {
	case IB_PMA_CLASS_PORT_INFO:
		fill_class(data);
		return true;
	case IB_PMA_PORT_COUNTERS:
		fill_counters(dev, data);
		return true;
	case IB_PMA_PORT_COUNTERS_EXT:
		fill_ext(dev, data);
		return true;
	}
	return false;
}

/**
 * iwt_port_process_mad() - ib_device operation process_mad: answer a request for counters
 * @ibdev: device
 * @flags: ignored
 * @port: 1
 * @wc: ignored
 * @grh: ignored
 * @in: request of RDMA core
 * @out: receives the answer; RDMA core has zeroed it
 * @out_size: unchanged
 * @pkey_index: unchanged
 *
 * May sleep.
 *
 * Return: %IB_MAD_RESULT_SUCCESS and %IB_MAD_RESULT_REPLY with an answer, %IB_MAD_RESULT_FAILURE
 * without an answer.
 */
int iwt_port_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
			 const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
			 size_t *out_size, u16 *pkey_index)
{
	struct ib_pma_mad *answer = (struct ib_pma_mad *)out;
	const struct ib_mad_hdr *hdr = &in->mad_hdr;

	if (port != 1 || hdr->mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    hdr->class_version != PMA_VERSION || hdr->method != IB_MGMT_METHOD_GET ||
	    !fill(to_iwt_dev(ibdev), hdr->attr_id, answer->data))
		return IB_MAD_RESULT_FAILURE;
	answer->mad_hdr = *hdr;
	answer->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
