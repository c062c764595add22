#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests listeners: a listener on one link or on several links is ready before the first connection;
# closing a listener delays no other process; if the port of a listener is in use when a link is
# added, the listener waits for the port.
. "$(dirname "$0")/../lib/begin.sh"

READER=$KTEST/reader
LISTEN=$(dirname "$0")/../peer/listen.py

# listener NS KIND ADDRESS PORT: starts a process that listens by KIND (rdma or tcp); its pid is in
# PID
listener() {
	start nsenter --net="/run/netns/$1" python3 "$LISTEN" "${@:2}" >"$TMP/listen-$2"
	busywait "$IWT_TIME" grep -q listening "$TMP/listen-$2"
}

# overdue: prints how many connections B's links have ended because of a time limit, for example
# because no Request arrived in time. If the driver has no counters, prints 0.
overdue() {
	local link sum=0
	has_feature COUNTERS || { echo 0; return; }
	for link in /sys/class/infiniband/"$DEV_B"*; do sum=$((sum + $(counter "${link##*/}" conn_timeout))); done
	echo $sum
}

# first WHAT ADDRESS PORT [TO]: listens at ADDRESS, at 200 ports one after the other, from PORT on.
# Clients connect to each port of the address TO (ADDRESS) as soon as possible. The test accepts
# that a connection fails only if the device counts that a time limit ended the connection.
first() {
	local what=$1 over lost
	over=$(overdue)
	in_b iwt_patient 300 python3 "$LISTEN" first "${@:2}" >"$TMP/out" 2>&1
	subtests "$what" "$TMP/out" $?
	over=$(($(overdue) - over)) lost=$(grep -c '^# lost: ' "$TMP/out")
	[ "$over$lost" = 00 ] || echo "# $lost connections lost, $over by the time limit"
	check "$what: no connection is lost before the time limit" [ "$lost" -le "$over" ]
}

# grace: checks that closing a listener does not delay other processes while the module iwt_ktest
# prevents the end of a grace period of RCU
grace() {
	if [ "$(nproc)" -lt 2 ]; then
		skip "closing delays no other process" "one processor"
	elif ! ktest_load || [ ! -e $READER ]; then
		skip "closing delays no other process" "no module iwt_ktest or no debugfs here"
	else
		in_net "$NS_B" iwt_patient 300 python3 "$LISTEN" grace $IP_B 7300 $READER >"$TMP/out" 2>&1
		subtests "closing" "$TMP/out" $?
		ktest_unload
	fi
}

# several: rdma_cm listens on several links, one after the other. The listener must be ready before
# a connection on the last link can arrive, too.
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

# port_taken: adds a link while a TCP listener uses the port of an RDMA listener
port_taken() {
	local tcp rdma
	link_del "$NS_B" "$DEV_B"
	check "a wildcard listener without a link" listener "$NS_B" rdma 0.0.0.0 7280
	rdma=$PID
	check "a TCP listener on the same port" listener "$NS_B" tcp 0.0.0.0 7280
	tcp=$PID
	check "port in use: a link is added" link_add "$NS_B" "$DEV_B" "$IF_B"
	pair "port in use: the link connects" 7174 "rping -s -a $IP_B -C 2" "rping -c -a $IP_B -C 2 -v"
	stop "$tcp"
	check "the wildcard listener gets the port after the TCP listener has ended" wait_listen "$NS_B" 7280
	stop "$rdma"
	check "the port is free after the wildcard listener has ended" wait_free "$NS_B" 7280
}

begin rdma rping python3
only_iw_tcp "other drivers are not tested"
# Otherwise librdmacm would load this module during the test
modprobe -q rdma_ucm
two_links
first "listening" $IP_B 7400
several
grace
port_taken
ktap_finish
