#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks in the laboratory "series" that the module was built in the kernel's own tree.
. "$(dirname "$0")/../../lib/ktap.sh"
in_kernel() { [[ $(modinfo -F filename iw_tcp) == */kernel/drivers/infiniband/sw/iw_tcp/iw_tcp.ko ]]; }
in_tree() { [ "$(modinfo -F intree iw_tcp)" = Y ]; }
untainted() { ! grep -q '[A-Z]*O' /sys/module/iw_tcp/taint; }
ktap_begin
check "the module is among the kernel's own modules" in_kernel
check "the module was built in the kernel's tree" in_tree
check "the module loads" modprobe iw_tcp
check "the module does not taint the kernel" untainted
modprobe -r iw_tcp
ktap_finish
