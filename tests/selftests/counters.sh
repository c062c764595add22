#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests counters of queue pairs: a bound counter counts the events of its queue pair, no event is
# counted twice or lost, and users without privileges can't bind a counter. Also tests auto mode,
# which binds a counter to each new queue pair, and the gauges of the link.
. "$(dirname "$0")/../lib/begin.sh"

PINGS=200
# is VALUE COMMAND...: does COMMAND print VALUE?
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
# ends_agree: has each end received as much as the other end has sent?
ends_agree() {
	local name
	for name in send write read bytes fpdu; do
		is "$(counter "$DEV_A" "tx_$name")" counter "$DEV_B" "rx_$name" &&
			is "$(counter "$DEV_B" "tx_$name")" counter "$DEV_A" "rx_$name" || { echo "$name"; return 1; }
	done
}
# connect PINGS: starts a server and a client of rping, which exchange PINGS messages; sets SERVER,
# CLIENT, and QPN (of the client)
connect() {
	wait_free "$NS_B" 7174
	start in_b rping -s -a $IP_B -C "$1" -V -S 3000
	SERVER=$PID
	wait_listen "$NS_B" 7174
	start in_a rping -c -a $IP_B -C "$1" -V -S 3000
	CLIENT=$PID
	busywait "$IWT_TIME" connected_qp "$DEV_A" "$CLIENT" && QPN=$(qp_of "$DEV_A" "$CLIENT")
}
# disconnect: stops the client, and waits until the server has ended by itself
disconnect() {
	stop "$CLIENT"
	ended "$SERVER" >/dev/null
	busywait 20 no_qps "$DEV_A" && busywait 20 no_qps "$DEV_B"
}
# bind_qp QPN: binds a new counter to A's queue pair with the number QPN
# unbind_qp COUNTER lqpn QPN: unbinds the counter with the number COUNTER from this queue pair
bind_qp() { rdma statistic qp bind link "$DEV_A/1" lqpn "$@"; }
unbind_qp() { rdma statistic qp unbind link "$DEV_A/1" cntn "$@"; }
# auto type on | pid on | off: sets auto mode, and reads the mode again, because rdma's exit status
# does not show whether the kernel has set the mode
auto() {
	rdma statistic qp set link "$DEV_A/1" auto "$@"
	rdma statistic qp mode link "$DEV_A/1" | tee "$TMP/mode" | grep -q "auto $1" || { cat "$TMP/mode"; return 1; }
}
# grows COMMAND...: waits until COMMAND prints a larger number than now
grows() { local n; n=$("$@") && busywait 20 more_than "$n" "$@"; }
more_than() { local n; n=$("${@:2}") && [ "$n" -gt "$1" ]; }

begin rping rdma python3 setpriv
only_iw_tcp "counters of iw_tcp"
only_with COUNTERS
two_links
check "no counters of queue pairs" is 0 counters_of "$DEV_A"

pair "pings" 7174 "rping -s -a $IP_B -C $PINGS -V -S 3000" "rping -c -a $IP_B -C $PINGS -V -S 3000"
busywait 20 no_qps "$DEV_A" && busywait 20 no_qps "$DEV_B"
for name in write read; do
	check "${name}s that the server has sent" is $PINGS counter "$DEV_B" tx_$name
	check "${name}s that the client has received" is $PINGS counter "$DEV_A" rx_$name
done
check "the server has sent two Sends for each ping" is $((2 * PINGS)) counter "$DEV_B" tx_send
check "the client has sent two Sends for each ping" is $((2 * PINGS)) counter "$DEV_A" tx_send
check "both ends agree" ends_agree

# A bound counter
check "an endless connection" connect 1000000
check "a counter is made and bound" bind_qp "$QPN"
CNTN=$(counter_of "$DEV_A" cntn)
check "the bound counter counts tx_send" grows counter_of "$DEV_A" tx_send cntn="$CNTN"
for name in rx_write rx_read rx_bytes tx_bytes rx_fpdu tx_fpdu rx_segs tx_batch; do
	check "the bound counter counts $name" grows counter_of "$DEV_A" $name cntn="$CNTN"
done
check "the link's counter includes the bound counter" grows counter "$DEV_A" tx_send
refuse "a counter is not bound to a queue pair that does not exist" bind_qp 16777214
refuse "a user without privileges can't bind a counter" setpriv --reuid 65534 --clear-groups rdma statistic qp bind link "$DEV_A/1" lqpn "$QPN"
check "the counter is unbound" unbind_qp "$CNTN" lqpn "$QPN"
check "a counter without a queue pair is gone" is 0 counters_of "$DEV_A"
check "the link goes on counting" grows counter "$DEV_A" tx_send
REFUSAL="Invalid argument|No such" refuse "the counter can't be unbound again" unbind_qp "$CNTN" lqpn "$QPN"
for _ in 1 2 3 4 5 6 7 8 9 10; do bind_qp "$QPN" && unbind_qp "$(counter_of "$DEV_A" cntn)" lqpn "$QPN"; done
check "a counter is bound before the connection ends" bind_qp "$QPN"
disconnect
check "a counter ends with its queue pair" is 0 counters_of "$DEV_A"

# Auto mode
check "auto mode" auto type on
connect 1000000
check "auto mode: a new queue pair gets a counter" is 1 counters_of "$DEV_A"
refuse "auto mode: the counter can't be unbound by hand" unbind_qp "$(counter_of "$DEV_A" cntn)" lqpn "$QPN"
disconnect
check "auto mode: the counter ends with its queue pair" is 0 counters_of "$DEV_A"
check "auto mode ends" auto off
if auto pid on >/dev/null 2>&1; then
	connect 1000000
	check "auto mode by process: the process gets a counter" is 1 counters_of "$DEV_A"
	check "auto mode by process: the counter has the pid of the process" is "$CLIENT" counter_of "$DEV_A" pid
	disconnect
	check "auto mode ends" auto off
else
	skip "auto mode by process" "this rdma has no such mode"
fi

# The link's counters include the counts of a counter that has ended
before=$(counter "$DEV_A" tx_send)
check "auto mode once more" auto type on
pair "pings with a counter" 7174 "rping -s -a $IP_B -C $PINGS -V -S 3000" "rping -c -a $IP_B -C $PINGS -V -S 3000"
busywait 20 no_qps "$DEV_A" && busywait 20 no_qps "$DEV_B"
check "the link's counter includes these pings once" is $((before + 2 * PINGS)) counter "$DEV_A" tx_send
auto off

# Binds and unbinds counters during traffic, while other processes read the counters. (Only one
# process binds and unbinds, because the RDMA core does not allow two threads to unbind the same
# queue pair at the same time.)
connect 1000000
binds() {
	local end=$((SECONDS + $1)) n
	while [ $SECONDS -lt "$end" ]; do
		bind_qp "$QPN" || return 1
		n=$(counter_of "$DEV_A" cntn) && unbind_qp "$n" lqpn "$QPN" || return 1
	done
}
reads() {
	local end=$((SECONDS + $1))
	while [ $SECONDS -lt "$end" ]; do
		rdma statistic show link "$DEV_A/1" && rdma statistic qp show link "$DEV_A/1" || return 1
		cat /sys/class/infiniband/"$DEV_A"/ports/1/hw_counters/* /sys/class/infiniband/"$DEV_A"/hw_counters/*
	done >/dev/null
}
reads 4 & racers=($!)
reads 4 & racers+=($!)
check "counters are bound and unbound, while processes read them" binds 4
check "the processes could read them" wait "${racers[@]}"
check "the traffic goes on" grows counter "$DEV_A" tx_send
# After this refusal auto mode is not possible any more: the RDMA core does not forget a counter
# that it could not bind
refuse "a queue pair can't have a second counter" sh -c "rdma statistic qp bind link $DEV_A/1 lqpn $QPN && rdma statistic qp bind link $DEV_A/1 lqpn $QPN"
disconnect
check "no counter is left" is 0 counters_of "$DEV_A"

# Gauges
for name in conn_current mem_pinned mem_rings; do
	check "$name is 0 without programs" is 0 counter "$DEV_A" $name
done
connect 1000000
check "one connection" is 1 counter "$DEV_A" conn_current
for name in mem_pinned mem_rings mem_txbuf; do
	check "$name is more than 0" more_than 0 counter "$DEV_A" $name
done
disconnect
for name in conn_current mem_pinned mem_rings; do
	check "$name is 0 again" busywait 20 is 0 counter "$DEV_A" $name
done
ktap_finish
