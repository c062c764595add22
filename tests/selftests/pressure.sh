#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# TCP as a whole has too little memory (net.ipv4.tcp_mem), or allocations of TCP's send buffers
# fail. When memory is available again, all data must arrive unchanged. A connection that cannot be
# established must fail, and leave no object.
#
# tcp_mem is a limit of the whole machine, so this test is for laboratories. Each processor may use
# up to a megabyte of memory before the kernel counts this memory. So another process ("the hog")
# uses more memory than the limit, in its own connections.
. "$(dirname "$0")/../lib/begin.sh"
. "$(dirname "$0")/../lib/tcpmem.sh"

begin iwt_verify iwt_conn rping rdma python3
only_with COUNTERS
in_laboratory || skip_all "this test would take TCP's memory from this machine"
want_settings

FAILSLAB=/sys/kernel/debug/failslab
CACHE=/sys/kernel/slab/skbuff_fclone_cache/failslab
trap 'normal; buffers; cleanup; settings_end 2>/dev/null' EXIT

# by_turns COMMAND COMMAND: runs the commands in turn, until the test stops this function
by_turns() {
	while :; do
		"$1"
		nap 0.4
		"$2"
		nap 0.2
	done
}


# net_all NAME VALUE: sets a sysctl on both hosts
net_all() { in_net "$NS_A" sysctl -qw "$1=$2" && in_net "$NS_B" sysctl -qw "$1=$2"; }

# data WHAT MAX-SIZE OPERATIONS: verifies the operations in sizes up to MAX-SIZE, in both directions
data() {
	verify_pair "$1" $IP_B --max-size "$2" --rounds 1 --no-neg --no-events --no-wr --ops "$3"
}

# shaken WHAT MAX-SIZE OPERATIONS: like data, while the memory limit is set and removed repeatedly
shaken() {
	local shaker
	start by_turns over normal
	shaker=$PID
	data "$@"
	stop "$shaker"
	normal
}

# The functions old_* are for the old connection, which exists during the whole test. old_moves
# waits until this connection has moved data.
old_moves() {
	local was
	was=$(counter "$DEV_A" tx_bytes)
	busywait "$IWT_TIME" grown "$was" 100000
}
grown() { [ "$(counter "$DEV_A" tx_bytes)" -gt $(($1 + $2)) ]; }

old_begins() {
	start in_b rping -s -a "$IP_B" -p 7190 -C 100000000 -S 20000 -V >"$TMP/old-server" 2>&1
	OLD_SERVER=$PID
	wait_listen "$NS_B" 7190 || return
	start in_a rping -c -a "$IP_B" -p 7190 -C 100000000 -S 20000 -V >"$TMP/old-client" 2>&1
	OLD=$PID
	old_moves
}
old_lives() { alive "$OLD" && alive "$OLD_SERVER" && old_moves; }
# old_is_right: has rping printed no error? rping compares its data, and prints an error if the data
# differ.
old_is_right() { ! grep -Ei 'mismatch|error|fail' "$TMP/old-client" "$TMP/old-server"; }

# many WHAT: makes many connections at once. Each connection may succeed or fail, but the client
# must end.
many() {
	local rc=0
	in_a iwt_patient "$IWT_TIME" "$IWT_BIN/iwt_conn" -t 8 -c $IP_B -n 32 -r 2 >"$TMP/many" 2>&1 || rc=$?
	echo "# $1: status $rc, $(grep -c '^ok' "$TMP/many") of its tests went well"
	check "$1: the client ends" [ $rc -lt 124 ]
}

many_over_the_limit() {
	local srv
	start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B
	srv=$PID
	wait_listen "$NS_B" 7471
	over
	many "32 connections over the limit"
	check "over the limit: the old connection's client still runs" alive "$OLD"
	normal
	check "over the limit: the server still runs" alive "$srv"
	tap "32 connections afterwards" in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B -n 32 -r 2
	stop "$srv"
}

# no_buffers PERCENT: from now on, PERCENT % of the allocations of TCP's send buffers fail. This
# tests the case that no data are in flight, so that no acknowledgment makes the sender try again.
# (TCP can still retransmit, because a retransmission allocates no send buffer.)
no_buffers() {
	echo 1 >$CACHE && echo Y >$FAILSLAB/cache-filter && echo 0 >$FAILSLAB/verbose &&
		echo N >$FAILSLAB/ignore-gfp-wait && echo 1 >$FAILSLAB/interval && echo -1 >$FAILSLAB/times &&
		echo "$1" >$FAILSLAB/probability
}
buffers() {
	[ -e $FAILSLAB ] || return 0
	echo 0 >$FAILSLAB/probability
	echo N >$FAILSLAB/cache-filter
	[ ! -e $CACHE ] || echo 0 >$CACHE
}

# Tests the old connection while all allocations of its send buffers fail, and then while 60 % fail
starved() {
	local was
	if [ ! -e $FAILSLAB ] || [ ! -e $CACHE ]; then
		if grep -qs 'LAB="debug"' /opt/iw_tcp/vm/run.env; then
			not_ok "starved: there is no fault injection"
		else
			skip "starved: allocations of send buffers fail" "no fault injection in this kernel"
		fi
		return
	fi
	for percent in 100 60; do
		check "starved: $percent % of the buffers fail" no_buffers $percent
		# Read the counter after allocations have begun to fail: until then, a slow machine
		# may still send
		was=$(counter "$DEV_A" tx_bytes)
		nap 2
		[ $percent != 100 ] || check "starved: nothing is sent" not grown "$was" 200000
		buffers
		check "starved: the old connection goes on after $percent %" old_lives
	done
}

# parts_over_the_limit: tests the case that only a part of an FPDU has arrived, and that TCP accepts
# no more data until the device reads this part
parts_over_the_limit() {
	over
	pair "over the limit: FPDUs come in parts" 7191 "rping -s -a $IP_B -p 7191 -C 3 -S 8000 -V" \
		"rping -c -a $IP_B -p 7191 -C 3 -S 8000 -V"
	normal
}

two_links
settings_begin
had=$(tcp_has alloc)
check "the old connection begins" old_begins
check "another process holds TCP's memory" hog
starved

pressed
check "pressure: the old connection moves" old_lives
data "pressure" 70000 send,write,read
normal
shaken "the limit is set and removed" 70000 send,read
net_all net.ipv4.tcp_rmem "4096 8192 16384"
net_all net.ipv4.tcp_wmem "4096 4096 8192"
shaken "the limit is set and removed, buffers are small" 20000 write
set_links large_fpdus on
net_all net.ipv4.tcp_rmem "4096 131072 6291456"
shaken "the limit is set and removed, FPDUs are large" 70000 write
parts_over_the_limit
set_links large_fpdus off
many_over_the_limit
check "the old connection goes on" old_lives
check "the data of the old connection are right" old_is_right

stop "$HOG"
# The server ends when its client ends
stop "$OLD" "$OLD_SERVER"
for dev in $DEV_A $DEV_B; do check "no queue pair is left on $dev" busywait 30 no_qps "$dev"; done
# While TCP's memory was above the limit, TCP may have put off the retransmission of a connection's
# last segment by up to 120 seconds
check "no socket is left" busywait 150 no_more_sockets "$had" || in_a ss -tnaie | diag
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V"
settings_end
ktap_finish
