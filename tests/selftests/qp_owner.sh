#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whose a queue pair is: a number does not give anybody else's away, be it that of
# another process or of a consumer in the kernel.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"

DIR=/sys/kernel/debug/iwt_ktest
PEER=$(dirname "$0")/../peer

# numbers OWNER: of the queue pairs of A's link that it has
numbers() { in_a rdma resource show qp link "$DEV_A" | sed -n "s/.* lqpn \([0-9]*\) .* comm $1 *$/\1/p"; }
has_numbers() { [ -n "$(numbers "$1")" ]; }

in_kernel() {
	if ! modprobe -q iwt_ktest || [ ! -d $DIR ]; then
		missing "queue pairs of the kernel" "module iwt_ktest, or debugfs"
		return
	fi
	exec 8<"/run/netns/$NS_A" 9<"/run/netns/$NS_B"
	check "identifiers of the kernel" sh -c "echo 'owner direct 8 9 $IP_A $IP_B' >$DIR/run"
	cat $DIR/results >"$TMP/results"
	subtests "kernel" "$TMP/results" $?
	(echo "named direct 8 9 $IP_A $IP_B" >$DIR/run) &
	run=$!
	check "a queue pair of the kernel waits" busywait "$IWT_TIME" has_numbers '\[rdma_cm\]'
	# shellcheck disable=SC2046
	in_a timeout "$IWT_TIME" python3 "$PEER/takeover.py" $IP_B 7174 $(numbers '\[rdma_cm\]') >"$TMP/out" 2>&1
	subtests "a process, a queue pair of the kernel" "$TMP/out" $?
	echo >$DIR/go
	wait $run
	cat $DIR/results >"$TMP/results"
	subtests "afterwards" "$TMP/results" $?
	exec 8<&- 9<&-
	modprobe -r iwt_ktest
}

require rdma rping python3
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "what other drivers allow is not tested"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
start in_b rping -s -P -a $IP_B >"$TMP/listener" 2>&1
srv=$PID
check "a listener" wait_listen "$NS_B" 7174
in_kernel

start in_a rping -c -a $IP_B >"$TMP/rping" 2>&1
cli=$PID
check "another process has a queue pair" busywait "$IWT_TIME" has_numbers rping
# shellcheck disable=SC2046
in_a timeout "$IWT_TIME" python3 "$PEER/takeover.py" $IP_B 7174 $(numbers rping) >"$TMP/out" 2>&1
subtests "a queue pair of another process" "$TMP/out" $?
check "that goes on" alive "$cli"
stop "$cli" "$srv"
ktap_finish
