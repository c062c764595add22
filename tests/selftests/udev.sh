#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev's rules for a device: they recognise iWARP, and want the services for iWARP.
. "$(dirname "$0")/../lib/begin.sh"

begin udevadm rdma
only_iw_tcp "the rule is for iw_tcp"
two_links

# udevadm reads the rules as for a new device, but starts nothing
in_a udevadm test --action=add "/sys/class/infiniband/$DEV_A" >"$TMP/udev" 2>&1
check "it is known as one of iWARP" grep -q '^ *ID_RDMA_IWARP=1' "$TMP/udev" || diag <"$TMP/udev"
check "its modules are loaded" grep -q 'SYSTEMD_WANTS=.*rdma-load-modules@iwarp' "$TMP/udev" ||
	diag <"$TMP/udev"
ktap_finish
