#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What udev's rules make of a device: it speaks iWARP, and the services for that start.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"

require udevadm rdma
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "the rule is for iw_tcp"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

# the rules are read as for a new device, but nothing is started
in_a udevadm test --action=add "/sys/class/infiniband/$DEV_A" >"$TMP/udev" 2>&1
check "it is known as one of iWARP" grep -q '^ *ID_RDMA_IWARP=1' "$TMP/udev" || diag <"$TMP/udev"
check "its modules are loaded" grep -q 'SYSTEMD_WANTS=.*rdma-load-modules@iwarp' "$TMP/udev" ||
	diag <"$TMP/udev"
ktap_finish
