#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Calls everything that a process can call on a device, with mutated arguments (iwt_fuzzabi), for
# at least 10 seconds by default. Some processes have no privileges, small limits and, if the kernel
# has control groups for memory, a control group of 48 MiB. The kernel's log shows the seed of each
# round. The option --round with this seed repeats the round:
#
#	fuzz_abi.sh [--time SECONDS] [OPTION OF iwt_fuzzabi]...
#	fuzz_abi.sh --round 0x123 --threads 1
. "$(dirname "$0")/../lib/begin.sh"

seconds=10 options=()
while [ $# -gt 0 ]; do
	case $1 in
	--time) seconds=$2; shift 2 ;;
	*) options+=("$1"); shift ;;
	esac
done

begin iwt_fuzzabi iwt_verify rping rdma
only_iw_tcp "the private part is that of iw_tcp"
trap 'cleanup; cg_del' EXIT
two_links
# with the setting direct_port, queue pairs connect without rdma_cm, too
if has_feature DIRECT; then
	want_settings
	settings_begin
	set_links direct_port 64791
fi
modprobe -q rdma_ucm
modprobe -q iwt_dmabuf || skip "regions of dma-bufs" "there is no module iwt_dmabuf"
if cg_has memory && cg_add memory && echo 48M >"$CG/memory.max"; then options+=(--group "$CG"); else skip "a group for memory" "this kernel has no such control groups"; fi
# nsenter keeps this shell's /sys, which has the control groups ("ip netns exec" does not)
iwt_patient $((seconds + IWT_TIME * 4)) nsenter --net="/run/netns/$NS_A" "$IWT_BIN/iwt_fuzzabi" "$DEV_A" $IP_A \
	--time "$seconds" "${options[@]}" >"$TMP/fuzz" 2>&1
subtests "fuzz" "$TMP/fuzz" $?
direct() { [ "$(counter "$DEV_A" tx_confirm)" -gt 0 ]; }
if has_feature DIRECT; then check "messages on direct connections" direct; fi
check_no_objects "$IWT_TIME" "$DEV_A"
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"
verify_pair "afterwards" $IP_B --max-size 20000 --rounds 1 --no-wr --no-neg --no-events
modprobe -q -r iwt_dmabuf
if has_feature DIRECT; then settings_end; fi
ktap_finish
