#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Listeners: they are ready before the first connection, their end delays nothing else, and on a
# new link whose port is in use they wait for the port.
. "$(dirname "$0")/../lib/begin.sh"

READER=$KTEST/reader
LISTEN=$(dirname "$0")/../peer/listen.py

# listener NS KIND ADDRESS PORT: starts a process that listens; its pid is in PID
listener() {
	start nsenter --net="/run/netns/$1" python3 "$LISTEN" "${@:2}" >"$TMP/listen-$2"
	busywait "$IWT_TIME" grep -q listening "$TMP/listen-$2"
}

# Connections that B's links have ended because no Request came in time; without counters, none may
overdue() {
	local link sum=0
	has_feature COUNTERS || { echo 0; return; }
	for link in /sys/class/infiniband/"$DEV_B"*; do sum=$((sum + $(counter "${link##*/}" conn_timeout))); done
	echo $sum
}

# first WHAT ARGUMENT...: listeners at many ports, to which clients connect as soon as possible. A
# connection may fail only by the device's time limit, which the device counts.
first() {
	local what=$1 over lost
	over=$(overdue)
	in_b iwt_patient 300 python3 "$LISTEN" first "${@:2}" >"$TMP/out" 2>&1
	subtests "$what" "$TMP/out" $?
	over=$(($(overdue) - over)) lost=$(grep -c '^# lost: ' "$TMP/out")
	[ "$over$lost" = 00 ] || echo "# $lost connections lost, $over by their time"
	check "$what: none is lost before its time" [ "$lost" -le "$over" ]
}

grace() {
	if [ "$(nproc)" -lt 2 ]; then
		skip "closing holds up nobody" "one processor"
	elif ! ktest_load || [ ! -e $READER ]; then
		skip "closing holds up nobody" "no module iwt_ktest or no debugfs here"
	else
		in_net "$NS_B" iwt_patient 300 python3 "$LISTEN" grace $IP_B 7300 $READER >"$TMP/out" 2>&1
		subtests "closing" "$TMP/out" $?
		ktest_unload
	fi
}

# rdma_cm listens on several links, one after the other: connections on the last link must not
# arrive too early, either.
several() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		ip -n "$NS_B" link add "d$i" type dummy && ip -n "$NS_B" addr add "10.78.$i.1/24" dev "d$i" &&
			ip -n "$NS_B" link set "d$i" up && link_add "$NS_B" "$DEV_B-$i" "d$i" || break
	done
	check "several links" rdma_in "$NS_B" d8
	first "several links" 0.0.0.0 7700 10.78.8.1
	for i in 1 2 3 4 5 6 7 8; do link_del "$NS_B" "$DEV_B-$i"; done
}

# Creates a link while a TCP listener uses the port
port_taken() {
	local tcp rdma
	link_del "$NS_B" "$DEV_B"
	check "a wildcard listener without a link" listener "$NS_B" rdma 0.0.0.0 7280
	rdma=$PID
	check "its port is TCP's" listener "$NS_B" tcp 0.0.0.0 7280
	tcp=$PID
	check "a link comes" link_add "$NS_B" "$DEV_B" "$IF_B"
	pair "and connects" 7174 "rping -s -a $IP_B -C 2" "rping -c -a $IP_B -C 2 -v"
	stop "$tcp"
	check "the listener has its port in the end" wait_listen "$NS_B" 7280
	stop "$rdma"
	check "and gives it back" wait_free "$NS_B" 7280
}

begin rdma rping python3
only_iw_tcp "other drivers are not tested"
# otherwise librdmacm loads this module
modprobe -q rdma_ucm
two_links
first "listening" $IP_B 7400
several
grace
port_taken
ktap_finish
