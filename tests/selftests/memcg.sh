#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory control groups: a program with less memory than it needs may fail or be killed, but must
# not hang. A program that is killed in the middle of its work leaves no object, and its group is
# not charged for rings and sockets any more. The group of a server is charged for the connections
# that the server accepted.
. "$(dirname "$0")/../lib/begin.sh"

PAIRS=4

begin rping rdma python3
only_with COUNTERS
cg_has memory || skip_all "this kernel has no such control groups"
trap 'cleanup; cg_del 2>/dev/null' EXIT

event() { awk -v name="$1" '$1 == name { print $2 }' "$CG/memory.events"; }
charged() { awk '$1 == "vmalloc" { print $2 }' "$CG/memory.stat"; }
nobody() { [ -z "$(cat "$CG/cgroup.procs")" ]; }
# uncharged: is the group charged for neither rings nor sockets? Other memory may stay charged,
# because other processes may still use it.
uncharged() { awk '$1 == "vmalloc" || $1 == "sock" { n += $2 } END { exit n > 0 }' "$CG/memory.stat"; }
nothing_left() {
	check "$1: the group has no process" busywait 20 nobody
	check_no_objects 20 "$DEV_A" "$1"
	check "$1: no connection is left" wait_in 30 "$NS_A" no_connections 7180
	check "$1: no ring and no socket stays charged to the group" busywait "$IWT_TIME" uncharged
	check "$1: the group can be removed" busywait 10 cg_del
}

# servers OPTION...: starts PAIRS servers of rping, one for each connection
servers() {
	local i
	SERVERS=()
	for ((i = 0; i < PAIRS; i++)); do
		start in_b rping -s -a "$IP_B" -p $((7180 + i)) "$@" >"$TMP/server-$i" 2>&1
		SERVERS+=("$PID")
		wait_listen "$NS_B" $((7180 + i)) || return 1
	done
}

# tight LIMIT: runs a client in a group whose limit is LIMIT; the client may succeed, fail or be
# killed
tight() {
	local srv rc
	cg_memory "$1"
	start in_b rping -s -a $IP_B -p 7180 -C 5 -S 60000 >"$TMP/server" 2>&1
	srv=$PID
	wait_listen "$NS_B" 7180
	"${GROUPED[@]}" iwt_patient 60 rping -c -a $IP_B -p 7180 -C 5 -S 60000 >"$TMP/client" 2>&1
	rc=$?
	echo "# $1: status $rc"
	check "$1: the client succeeds, fails or is killed" test "$rc" -ne 124
	stop "$srv"
	nothing_left "$1"
}

moving() { [ "$(counter "$DEV_A" rx_bytes)" -gt 10000000 ]; }
# Allocates memory until there is no more
HOGGING='
keep = []
while True:
	keep.append(bytearray(1 << 20))'

# accepted: runs a server in a group that has enough memory for TCP's buffers
accepted() {
	local grouped=("${GROUPED[@]/$NS_A/$NS_B}") cli
	cg_memory 96M
	start "${grouped[@]}" rping -s -a $IP_B -p 7180 -C 1000000 -S 60000 >"$TMP/server" 2>&1
	check "accepted: the server" wait_listen "$NS_B" 7180
	start in_a rping -c -a $IP_B -p 7180 -C 1000000 -S 60000 >"$TMP/client" 2>&1
	cli=$PID
	check "accepted: client and server move data" busywait "$IWT_TIME" moving
	check "accepted: the server's group is charged for TCP's memory" busywait "$IWT_TIME" of_sockets
	stop "$cli"
	nothing_left accepted
}
of_sockets() { awk '$1 == "sock" { n = $2 } END { exit !n }' "$CG/memory.stat"; }

# exits PID: waits until a server of rping exits. The status of the server must be 0 or 255: this
# depends on which thread of the server first sees that the client has gone.
exits() {
	local rc=0
	ended "$1" 60 || rc=$?
	echo "status $rc"
	[ $rc = 0 ] || [ $rc = 255 ]
}

more_charged() { [ $(($(charged) - $1)) -ge "$2" ]; }

# killed: clients run in a group until a program in the group exceeds the limit of the group, and
# the kernel kills all processes of the group
killed() {
	local i before
	cg_memory 96M
	echo 1 >"$CG/memory.oom.group"
	check "killed: servers" servers -C 1000000 -S 60000
	before=$(charged)
	for ((i = 0; i < PAIRS; i++)); do
		start "${GROUPED[@]}" rping -c -a $IP_B -p $((7180 + i)) -C 1000000 -S 60000 >"$TMP/client-$i" 2>&1
	done
	check "killed: clients and servers move data" busywait "$IWT_TIME" moving
	# The clients have for each connection two rings of at least a page, and a completion queue
	check "killed: the clients' group is charged for queues" busywait "$IWT_TIME" more_charged "$before" $((PAIRS * 3 * 4096))
	echo "# $((($(charged) - before) >> 10)) KiB of rings are charged"
	start "${GROUPED[@]}" python3 -c "$HOGGING"
	check "killed: the group has no process" busywait "$IWT_TIME" nobody
	check "killed: the kernel killed because memory was short" test "$(event oom_kill)" -gt 0
	for i in "${SERVERS[@]}"; do check "killed: the server of a client ends" exits "$i"; done
	nothing_left killed
}

two_links
for size in 512K 1M 8M; do tight $size; done
accepted
killed
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V"
ktap_finish
