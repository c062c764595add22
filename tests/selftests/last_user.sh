#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A link is deleted, or the module is unloaded, just when rdma_cm releases the link. rdma_cm first
# drops its reference to the device, and then its reference to the GID. If the kernel has probes,
# the test makes the time between these two steps longer. IWT_ROUNDS: number of rounds (3)
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_conn
SLOW=/sys/module/iwt_slow/parameters/us

exchanged() { grep -q "^ok .*messages return" "$TMP/conns"; }
# round NAME COMMAND...: runs COMMAND, which removes A's link, while rdma_cm uses both links
round() {
	start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B -b 16 -n 4 >"$TMP/server" 2>&1
	SRV=$PID
	wait_listen "$NS_B" 7471
	start in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B -n 4 -r 1 -w 64 -k >"$TMP/conns" 2>&1
	CLI=$PID
	check "$1: connections" busywait "$IWT_TIME" exchanged
	[ ! -e $SLOW ] || echo 500000 >$SLOW
	check "$1: the command ends well while rdma_cm uses the link" iwt_patient "$IWT_TIME" "${@:2}"
	check "$1: the link is gone" no_link "$DEV_A"
	stop "$CLI" "$SRV"
	[ ! -e $SLOW ] || echo 0 >$SLOW
	no_link "$DEV_B" && link_add "$NS_B" "$DEV_B" "$IF_B"
	link_add "$NS_A" "$DEV_A" "$IF_A"
}

two_links
slow_down functions=rdma_put_gid_attr us=0
for ((i = 0; i < ${IWT_ROUNDS:-3}; i++)); do
	round "round $i, link removed" ip netns exec "$NS_A" rdma link delete "$DEV_A"
	round "round $i, module unloaded" modprobe -r "$IWT_LINK_TYPE"
done
[ ! -e $SLOW ] || check "the module iwt_slow is unloaded" modprobe -r iwt_slow
ktap_finish
