#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Control groups for memory: programs with less than they need fail or are killed, and
# one that is killed in the middle of everything leaves nothing, nor anything charged.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/pair.sh"

TOP=/sys/fs/cgroup
CG=$TOP/iwt$$
PAIRS=4

require rping rdma python3
require_type "$IWT_LINK_TYPE"
if ! grep -qw memory $TOP/cgroup.controllers 2>/dev/null; then
	skip_all "this kernel has no such control groups"
fi
trap 'cleanup; rmdir "$CG" 2>/dev/null' EXIT

# grouped COMMAND...: in the control group and in A; nothing that it writes is charged to it
grouped() { exec bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CG" ip netns exec "$NS_A" "$@"; }
group() {
	echo +memory >$TOP/cgroup.subtree_control && mkdir -p "$CG" && echo "$1" >"$CG/memory.max" || return
	[ ! -e "$CG/memory.swap.max" ] || echo 0 >"$CG/memory.swap.max"
}
no_group() { rmdir "$CG"; }
event() { awk -v name="$1" '$1 == name { print $2 }' "$CG/memory.events"; }
charged() { awk '$1 == "vmalloc" { print $2 }' "$CG/memory.stat"; }
no_objects() { ! rdma resource show "$1" link "$DEV_A" 2>/dev/null | grep -q ' pid '; }
nobody() { [ -z "$(cat "$CG/cgroup.procs")" ]; }
# rings and sockets: what else it was charged for may be of use to others, and stays
uncharged() { awk '$1 == "vmalloc" || $1 == "sock" { n += $2 } END { exit n > 0 }' "$CG/memory.stat"; }
nothing_left() {
	local kind
	check "$1: the group has no process" busywait 20 nobody
	for kind in qp cq mr pd; do check "$1: no $kind is left" busywait 20 no_objects $kind; done
	check "$1: no connection is left" wait_in 30 "$NS_A" no_connections 7180
	check "$1: no ring and no socket stays charged to it" busywait "$IWT_TIME" uncharged
	check "$1: the group goes" busywait 10 no_group
}

# servers: one for each connection
servers() {
	local i
	SERVERS=()
	for ((i = 0; i < PAIRS; i++)); do
		start in_b rping -s -a "$IP_B" -p $((7180 + i)) "$@" >"$TMP/server-$i" 2>&1
		SERVERS+=("$PID")
		wait_listen "$NS_B" $((7180 + i)) || return 1
	done
}

# What the client is left with
tight() {
	local srv rc
	group "$1"
	start in_b rping -s -a $IP_B -p 7180 -C 5 -S 60000 >"$TMP/server" 2>&1
	srv=$PID
	wait_listen "$NS_B" 7180
	(grouped timeout -k 5 60 rping -c -a $IP_B -p 7180 -C 5 -S 60000) >"$TMP/client" 2>&1
	rc=$?
	echo "# $1: status $rc"
	check "$1: it succeeds, fails or is killed" test "$rc" -ne 124
	stop "$srv"
	nothing_left "$1"
}

moving() { [ "$(counter "$DEV_A" rx_bytes)" -gt 10000000 ]; }
# More and more, until there is no more
hog() { grouped python3 -c '
keep = []
while True:
	keep.append(bytearray(1 << 20))'; }

killed() {
	local i before
	group 96M
	echo 1 >"$CG/memory.oom.group"
	check "killed: servers" servers -C 1000000 -S 60000
	before=$(charged)
	for ((i = 0; i < PAIRS; i++)); do
		start grouped rping -c -a $IP_B -p $((7180 + i)) -C 1000000 -S 60000 >"$TMP/client-$i" 2>&1
	done
	check "killed: they move data" busywait "$IWT_TIME" moving
	nap 1
	echo "# $((($(charged) - before) >> 10)) KiB of rings are charged"
	# two rings of at least a page, and a completion queue, for each
	check "killed: its queues are charged" test $(($(charged) - before)) -ge $((PAIRS * 3 * 4096))
	start hog
	check "killed: the group" busywait "$IWT_TIME" nobody
	check "killed: for want of memory" test "$(event oom_kill)" -gt 0
	for i in "${SERVERS[@]}"; do check "killed: its peer hears of it" ended "$i" 60 || [ $? != 124 ]; done
	nothing_left killed
}

ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
for size in 512K 1M 8M; do tight $size; done
killed
pair "and after all this: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V"
ktap_finish
