#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes many connections at once. IWT_MANY: the number of connections in the largest test (500)
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_conn
two_links

# run PREFIX OPTION...: runs a client, iwt_conn, in A
run() {
	local prefix=$1
	shift
	tap "$prefix" in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B "$@"
}

start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B
srv=$PID
wait_listen "$NS_B" 7471
run "64 connections" -n 64
run "64 connections again" -n 64
# Two clients at the same time
in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B -n 32 >"$TMP/other" 2>&1 &
other=$!
run "32 connections, while another client has 32" -n 32
wait $other
subtests "32 connections of the other client" "$TMP/other" $?
check "the server is alive" alive "$srv"
stop "$srv"
check "no queue pair is left" busywait 20 no_qps "$DEV_B"
wait_free "$NS_B" 7471

# MANY connections, at most EACH of them in one process (User-Mode Linux is slow with thousands of
# mappings in one process). All connections exist at the same time, and each transfers messages.
MANY=${IWT_MANY:-500}
EACH=1000
qps() { rdma resource show "$1" | sed -n 's/.* qp \([0-9]*\).*/\1/p'; }
has_qps() { [ "$(qps "$1")" = "$2" ]; }
exchanged() { grep -q "messages return" "$TMP/many-$1"; }
# The number of queue pairs that belong to the RDMA core itself
none_a=$(qps "$DEV_A") none_b=$(qps "$DEV_B")

servers=() clients=()
for ((i = 0; i * EACH < MANY; i++)); do
	n=$((MANY - i * EACH))
	[ $n -le $EACH ] || n=$EACH
	start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B -p $((7500 + i)) -b 1024 -n $n
	servers+=("$PID")
	wait_listen "$NS_B" $((7500 + i))
	start in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B -p $((7500 + i)) -n $n -r 1 -w 64 -k \
		>"$TMP/many-$i" 2>&1
	clients+=("$PID")
done
for ((i = 0; i < ${#clients[@]}; i++)); do busywait "$IWT_TIME" exchanged $i; done
check "$MANY connected queue pairs at one end" has_qps "$DEV_A" $((none_a + MANY))
check "$MANY connected queue pairs at the other" has_qps "$DEV_B" $((none_b + MANY))
kill -USR1 "${clients[@]}"
for ((i = 0; i < ${#clients[@]}; i++)); do
	ended "${clients[i]}" >/dev/null
	subtests "$MANY connections, part $((i + 1))" "$TMP/many-$i" $?
done
all_alive() { for pid; do alive "$pid" || return; done; }
check "the servers are alive" all_alive "${servers[@]}"
stop "${servers[@]}"
check "no queue pair is left" busywait 60 has_qps "$DEV_B" "$none_b"

start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B -b 1
srv=$PID
wait_listen "$NS_B" 7471
run "one after the other, a backlog of one" -n 1
stop "$srv"
ktap_finish
