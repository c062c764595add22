#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Everything that a process can do with a device, with mutations (iwt_fuzzabi), for 10 seconds
# unless told; some of its processes have no privileges, small limits and a group of 48 MiB.
# The rounds' seeds are in the kernel's log, and repeat a round:
#
#	fuzz_abi.sh [--time SECONDS] [OPTION OF iwt_fuzzabi]...
#	fuzz_abi.sh --round 0x123 --threads 1
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/pair.sh"
. "$(dirname "$0")/../lib/verify.sh"

seconds=10 options=() CG=/sys/fs/cgroup/iwt$$
while [ $# -gt 0 ]; do
	case $1 in
	--time) seconds=$2; shift 2 ;;
	*) options+=("$1"); shift ;;
	esac
done

no_group() { [ ! -d "$CG" ] || rmdir "$CG"; }
group() {
	grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null || return 1
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p "$CG" &&
		echo 48M >"$CG/memory.max"
}
no_objects() { ! rdma resource show "$1" link "$DEV_A" 2>/dev/null | grep -q ' pid '; }

require iwt_fuzzabi iwt_verify rping rdma
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "the private part is that of iw_tcp"
trap 'cleanup; no_group' EXIT
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
modprobe -q rdma_ucm
if group; then options+=(--group "$CG"); else skip "a group for memory" "this kernel has no such control groups"; fi
# (where the mounted /sys is that of the control groups)
timeout $((seconds + IWT_TIME * 4)) nsenter --net="/run/netns/$NS_A" "$IWT_BIN/iwt_fuzzabi" "$DEV_A" $IP_A \
	--time "$seconds" "${options[@]}" >"$TMP/fuzz" 2>&1
subtests "fuzz" "$TMP/fuzz" $?
for kind in qp cq mr pd; do check "no $kind is left" busywait "$IWT_TIME" no_objects $kind; done
pair "and after all this: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"
verify_pair "and after all this" $IP_B --max-size 20000 --rounds 1 --no-wr --no-neg --no-events
ktap_finish
