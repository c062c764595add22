#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Commands of rdma_cm in any order (iwt_cmorder): the kernel does not crash, each command is
# answered, and no object is left. IWT_SEED repeats a round; IWT_ORDERS: duration in seconds (5).
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_cmorder rping rdma
only_iw_tcp "iw_cm of most kernels crashes with other drivers"
two_links
modprobe -q rdma_ucm
options=(--time "${IWT_ORDERS:-5}")
# iw_cm leaks the private data of events that it drops. A patch in release/core corrects this. A
# kernel that has the module in its own tree (in the laboratory core) has this patch, too. On other
# kernels iwt_cmorder must not send private data.
[ "$(modinfo -F intree iw_tcp)" != Y ] || options+=(--private-data)
tap orders in_a "$IWT_BIN/iwt_cmorder" "$DEV_A" $IP_A "${options[@]}" ${IWT_SEED:+--seed "$IWT_SEED"}
check_no_objects "$IWT_TIME" "$DEV_A"
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"
ktap_finish
