#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Attaches sockets that are in use elsewhere in the kernel: another user of the socket never
# releases the lock of the socket, takes the lock at the worst moment, or is still in a system call
# that began before the attach.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_attach rdma rping
only_iw_tcp "other drivers can't attach sockets"
only_with DELAYED
held_need
two_links

# debugfs is not in the /sys of "ip netns exec"
in_a_() { in_net "$NS_A" iwt_patient 250 "$IWT_BIN/iwt_attach" "$1" "$DEV_A" $IP_A "${@:2}"; }
tap held in_a_ held
tap crowd in_a_ crowd
tap late in_a_ late

# by_trace: does the trace show that the device has noticed the end of a lingering connection,
# although another user owned the socket when the device checked the socket? (Otherwise the trace
# shows a time-out.)
by_trace() { grep -q 'state=LINGER->CLOSED event=FIN' "$TRACE/trace" || { grep state=LINGER "$TRACE/trace"; return 1; }; }
lingers() { traced iw_tcp/iwt_cm -- tap linger in_a_ linger; }
# queued: enables the event of work items with the function do_retry_work(). The device queues such a
# work item for each try to run the engines, while another user owns the socket.
QUEUED=workqueue/workqueue_queue_work
queued() {
	local address
	address=$(awk '$3 == "do_retry_work" && $4 == "[iw_tcp]" { print $1 }' /proc/kallsyms)
	echo "function == 0x$address" >"$TRACE/events/$QUEUED/filter"
}
few_tries() {
	local n
	n=$(grep -c function=do_retry_work "$TRACE/trace")
	echo "# $n tries in 4 seconds"
	[ "$n" -ge 1 ] && [ "$n" -le 40 ]
}
if [ -w /sys/kernel/tracing/events/iw_tcp/iwt_cm/enable ]; then
	trace_events iw_tcp/iwt_cm $QUEUED
	check "busy: the device's tries are traced" queued
	traced $QUEUED -- tap busy in_a_ busy
	check "busy: the device waits longer after each try" few_tries
	lingers
	if ! grep -q "has no probe there" "$KTAP_LOG"; then
		check "linger: the device checks the socket again" by_trace
	fi
else
	skip "linger" "no trace of iw_tcp here"
fi

says() { grep -q "$1" "$TMP/owned"; }
# link_goes HOW: the link is deleted while the module iwt_held owns a socket of a connection. The
# module takes the ownership before the deletion (hold), or just before the next caller of
# lock_sock() (ambush).
link_goes() {
	local how=$1 prog
	start nsenter --net="/run/netns/$NS_A" "$IWT_BIN/iwt_attach" owned "$DEV_A" $IP_A "$how" >"$TMP/owned"
	prog=$PID
	if ! busywait "$IWT_TIME" eval "says owned || not alive $prog" || ! says owned; then
		skip "$how: rdma deletes the link" "this kernel has no probe there"
		return
	fi
	check "$how: rdma deletes the link" iwt_patient 60 ip netns exec "$NS_A" rdma link delete "$DEV_A"
	check "$how: the link is gone" busywait 20 no_link "$DEV_A"
	check "$how: the program that used the link ends" ended "$prog" || diag <"$TMP/owned"
	check "$how: the module can't be unloaded" stays
	check "$how: a new link is added" link_add "$NS_A" "$DEV_A" "$IF_A"
	pair "$how: the new link connects" 7174 "rping -s -a $IP_B -C 2" "rping -c -a $IP_B -C 2 -v"
	echo end >$HELD
	check "$how: the old connection ends when the socket has no owner" busywait 20 none_established
}

# stays: is the module iw_tcp still in use, because iwt_held still owns a socket?
stays() {
	iwt_patient 20 modprobe -r iw_tcp >"$TMP/unload" 2>&1
	[ $? -eq 1 ] && grep -q 'in use' "$TMP/unload"
}
none_established() { ! in_net "$NS_A" cat /proc/net/tcp | grep -q '^ *[0-9]*: [^ ]* [^ ]* 01 '; }

link_goes hold
link_goes ambush
modprobe -r iwt_held
ktap_finish
