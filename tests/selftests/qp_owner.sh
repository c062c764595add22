#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The owner of a queue pair. A process that only knows the number of a queue pair cannot connect
# this queue pair, whether the owner is another process or a consumer in the kernel. The owner
# itself cannot connect the queue pair before the creation of the queue pair is complete.
. "$(dirname "$0")/../lib/begin.sh"

PEER=$(dirname "$0")/../peer

# numbers OWNER: prints the numbers of OWNER's queue pairs on A's link. OWNER is the name of a
# process, or a pattern for the name of a kernel module in brackets, as rdma shows it.
numbers() { in_a rdma resource show qp link "$DEV_A" | sed -n "s/.* lqpn \([0-9]*\) .* comm $1 *$/\1/p"; }
has_numbers() { [ -n "$(numbers "$1")" ]; }

in_kernel() {
	if ! ktest_load; then
		missing "queue pairs of the kernel" "module iwt_ktest, or debugfs"
		return
	fi
	check "identifiers of the kernel" ktest owner
	ktest_results kernel
	ktest named &
	run=$!
	check "a queue pair of the kernel waits" busywait "$IWT_TIME" has_numbers '\[rdma_cm\]'
	# shellcheck disable=SC2046
	in_a iwt_patient "$IWT_TIME" python3 "$PEER/takeover.py" $IP_B 7174 $(numbers '\[rdma_cm\]') >"$TMP/out" 2>&1
	subtests "a process, a queue pair of the kernel" "$TMP/out" $?
	echo >$KTEST/go
	wait $run
	ktest_results afterwards
	ktest_unload
}

begin rdma rping python3 iwt_early
only_iw_tcp "other drivers may allow more"
two_links
start in_b rping -s -P -a $IP_B >"$TMP/listener" 2>&1
srv=$PID
check "a listener" wait_listen "$NS_B" 7174
in_kernel

start in_a rping -c -a $IP_B >"$TMP/rping" 2>&1
cli=$PID
check "another process has a queue pair" busywait "$IWT_TIME" has_numbers rping
# shellcheck disable=SC2046
in_a iwt_patient "$IWT_TIME" python3 "$PEER/takeover.py" $IP_B 7174 $(numbers rping) >"$TMP/out" 2>&1
subtests "a queue pair of another process" "$TMP/out" $?
check "the other process goes on" alive "$cli"

status=0
in_a iwt_patient "$IWT_TIME" "$IWT_BIN/iwt_early" $IP_B 7174 >"$TMP/out" 2>&1 || status=$?
case $status in
4) skip "connecting an incomplete queue pair" "this kernel has no userfaultfd" ;;
*) subtests "a process, its own queue pair, too early" "$TMP/out" $status ;;
esac
stop "$cli" "$srv"
ktap_finish
