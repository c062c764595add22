#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev's rules for a device: udev loads RDMA's modules, but does not start the port mapper
# (iwpmd), because a link uses TCP's own ports.
. "$(dirname "$0")/../lib/begin.sh"

begin udevadm rdma
only_iw_tcp "other drivers may need the port mapper"
two_links

# udevadm evaluates the rules for a new device, but starts nothing
in_a udevadm test --action=add "/sys/class/infiniband/$DEV_A" >"$TMP/udev" 2>&1
check "RDMA's modules are loaded" grep -q 'SYSTEMD_WANTS=.*rdma-hw.target' "$TMP/udev" || diag <"$TMP/udev"
check "there is a rule for the port mapper" grep -qr 'SYSTEMD_WANTS.*iwpmd' /usr/lib/udev/rules.d
check "the port mapper is not started" not grep -q 'SYSTEMD_WANTS=.*iwpmd' "$TMP/udev" || diag <"$TMP/udev"
ktap_finish
