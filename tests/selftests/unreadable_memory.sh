#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Data arrive in memory that the processor can't read: the device ends the connection at once.
. "$(dirname "$0")/../lib/begin.sh"

begin rdma rping
only_iw_tcp "other drivers are not tested"
held_need
two_links

# ping: sends one message in each direction
# pings: does the message of ping come back? The output of rping shows this. The exit status of
# rping may be an error although the message came back.
ping() { in_net "$NS_A" iwt_patient "$IWT_TIME" rping -c -v -a $IP_B -S 1000 -C 1 >"$TMP/ping" 2>&1; }
pings() { ping; grep -q "ping data" "$TMP/ping"; }
# no_ping: does no message come back, and does the connection end by itself?
no_ping() {
	local rc=0
	ping || rc=$?
	[ $rc -ne 124 ] && ! grep -q "ping data" "$TMP/ping"
}

start in_b rping -s -P -S 1000 -a $IP_B >"$TMP/server" 2>&1
srv=$PID
wait_listen "$NS_B" 7174
start in_a rping -c -a $IP_B -S 1000 >"$TMP/client" 2>&1
cli=$PID
check "a connection" wait_in 20 "$NS_A" connections 7174
nap 0.5
check "the client runs" alive "$cli"
# debugfs is not in the /sys of "ip netns exec"
if nsenter --net="/run/netns/$NS_B" bash -c "echo blind 7174 >$HELD" 2>"$TMP/blind"; then
	check "unreadable: the client ends" busywait 30 not alive "$cli"
	check "unreadable: the TCP connection ends" wait_in 30 "$NS_A" no_connections 7174
	check "unreadable from the first octet: nothing comes back" no_ping
	echo end >$HELD
	check "readable again: messages come back" pings
	check "the server still runs" alive "$srv"
elif grep -q 'not supported' "$TMP/blind"; then
	skip "unreadable" "this kernel knows no such memory"
else
	not_ok "unreadable"
	diag <"$TMP/blind"
fi
stop "$cli" "$srv"
modprobe -r iwt_held
ktap_finish
