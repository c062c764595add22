#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests the counters that every RDMA port has in sysfs: they have the right units, agree with the
# counters of the driver, never decrease, and count errors. Prometheus's node_exporter can read
# them.
. "$(dirname "$0")/../lib/begin.sh"

PINGS=300 SIZE=3000
# port LINK NAME: prints a counter of the link's port
port() { cat "/sys/class/infiniband/$1/ports/1/counters/$2"; }
# is VALUE COMMAND...: does COMMAND print VALUE?
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
# agree LINK: do the counters of the port agree with the counters of the driver?
agree() {
	local to name n
	for to in xmit:tx rcv:rx; do
		n=$(counter "$1" "${to#*:}_bytes")
		is $((n / 4)) port "$1" "port_${to%:*}_data" || return 1
		n=$(counter "$1" "${to#*:}_segs")
		for name in "port_${to%:*}" "unicast_${to%:*}"; do
			is "$n" port "$1" "${name}_packets" || return 1
		done
	done
	n=$(($(counter "$1" rx_crc_err) + $(counter "$1" rx_proto_err) + $(counter "$1" mpa_bad)))
	is "$n" port "$1" port_rcv_errors && is "$(counter "$1" rx_access_err)" port "$1" port_rcv_constraint_errors &&
		is "$(counter "$1" conn_lost)" port "$1" port_xmit_discards && is "$(counter "$1" tx_blocked)" port "$1" port_xmit_wait
}
# octets LINK: prints how many octets the link's port has sent and received
octets() { echo $((4 * $(port "$1" port_xmit_data))) $((4 * $(port "$1" port_rcv_data))); }
pings() {
	pair "$1" 7174 "rping -s -a $IP_B -C $PINGS -V -S $SIZE" "rping -c -a $IP_B -C $PINGS -V -S $SIZE"
	busywait 20 no_qps "$DEV_A" && busywait 20 no_qps "$DEV_B"
}
# moved SENT RECEIVED: has A's link sent and received the data of the pings since the port counted
# SENT and RECEIVED octets? The numbers may be up to a fifth larger, because of headers and of the
# messages that announce the data.
moved() {
	local data=$((PINGS * SIZE)) n was=("$@") i=0
	# shellcheck disable=SC2046
	for n in $(octets "$DEV_A"); do
		n=$((n - was[i++]))
		[ "$n" -ge "$data" ] && [ "$n" -le $((data + data / 5)) ] || { echo "$n octets instead of $data"; return 1; }
	done
}
# reads LINK: reads the files that node_exporter reads, and in the same way. node_exporter fails if
# it can't read one of them.
reads() {
	local dir=/sys/class/infiniband/$1 file text
	for file in fw_ver board_id hca_type; do [ -s "$dir/$file" ] && cat "$dir/$file" || return 1; done
	for file in state phys_state; do
		text=$(cat "$dir/ports/1/$file") && [[ $text =~ ^[0-9]+:\ *[A-Za-z]+$ ]] || { echo "$file: $text"; return 1; }
	done
	text=$(cat "$dir/ports/1/rate") && [[ $text =~ ^[0-9]+(\.[0-9]+)?\ Gb/sec\ \([0-9]+X ]] || { echo "rate: $text"; return 1; }
	for file in "$dir"/ports/1/counters/*; do
		text=$(cat "$file") && [[ $text =~ ^[0-9]+$ ]] || { echo "$file: $text"; return 1; }
	done
}
# up_and_down DOWNS: sets B's end of the veth pair down, waits until A's counter link_downed is
# DOWNS, and sets B's end up again
up_and_down() { ip -n "$NS_B" link set "$IF_B" down && busywait 20 is "$1" port "$DEV_A" link_downed; ip -n "$NS_B" link set "$IF_B" up; }
# downs NETDEV TIMES: sets a net device of A down and up, TIMES times
downs() {
	local i
	for i in $(seq "$2"); do printf 'link set %s down\nlink set %s up\n' "$1" "$1"; done >"$TMP/downs"
	ip -n "$NS_A" -batch "$TMP/downs"
}
# nonsense: sends octets that are no Request to the listener, and waits for the end of the
# connection, which may be a reset (status 1 of cat)
# shellcheck disable=SC2016
nonsense() {
	local rc=0
	in_a bash -c 'exec 3<>"/dev/tcp/$0/7174" && printf "%40s" >&3 && iwt_patient "$1" cat <&3' $IP_B "$IWT_TIME" || rc=$?
	[ $rc -le 1 ] || return $rc
}

begin rping rdma
only_iw_tcp "counters of iw_tcp"
only_with COUNTERS
two_links
for name in port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets port_rcv_errors port_xmit_discards \
	link_downed port_rcv_constraint_errors unicast_xmit_packets multicast_rcv_packets symbol_error VL15_dropped; do
	check "a new link: $name" is 0 port "$DEV_A" $name
done
check "what node_exporter reads" reads "$DEV_A"
modprobe -q ib_umad
refuse "there is no device for management" grep -qsx "$DEV_A" /sys/class/infiniband_mad/*/ibdev

before=$(octets "$DEV_A")
pings "pings"
# shellcheck disable=SC2086
check "the port counts their octets in units of four" moved $before
check "one end has sent what the other one has received" is "$(port "$DEV_A" port_xmit_data)" port "$DEV_B" port_rcv_data
check "the port agrees with the driver" agree "$DEV_A"
check "the port of B agrees with the driver" agree "$DEV_B"

# The driver counts the octets of a queue pair that is bound to a counter in this counter, and not
# in the link's own counters. The counters of the port must include these octets, too.
rdma statistic qp set link "$DEV_A/1" auto type on
before=$(octets "$DEV_A")
pings "pings with a counter of queue pairs"
# shellcheck disable=SC2086
check "the port counts these pings after the counter's end" moved $before
check "the port counts them once" agree "$DEV_A"
rdma statistic qp set link "$DEV_A/1" auto off

# The port's counters never decrease, even while queue pairs with a counter of their own come and go
rdma statistic qp set link "$DEV_A/1" auto type on
# never_less PID: reads a counter until the process PID ends; the counter must not decrease
never_less() {
	local last=0 n rounds=0
	while alive "$1"; do
		n=$(port "$DEV_A" port_xmit_data)
		[ "$n" -ge "$last" ] || { echo "$n after $last"; return 1; }
		last=$n rounds=$((rounds + 1))
	done
	[ $rounds -gt 1 ]
}
come_and_go() { for _ in 1 2; do pings "pings of one of two"; done >"$TMP/two"; ! grep '^not ok' "$TMP/two"; }
come_and_go &
check "no counter decreases" never_less $!
check "the connections end well meanwhile" wait $!
rdma statistic qp set link "$DEV_A/1" auto off

start in_b rping -s -a $IP_B -C 1
wait_listen "$NS_B" 7174
check "a malformed Request" nonsense
check "the port counts the malformed Request" busywait "$IWT_TIME" is 1 port "$DEV_B" port_rcv_errors
check "the port still agrees with the driver" agree "$DEV_B"
stop "$PID"

check "the port counts the loss of the carrier" up_and_down 1
check "the port counts a second loss of the carrier" up_and_down 2
if ip -n "$NS_A" link add "dm$TAG" type dummy && ip -n "$NS_A" link set "dm$TAG" up && link_add "$NS_A" "iwd$TAG" "dm$TAG"; then
	check "a port goes down 260 times" downs "dm$TAG" 260
	check "the driver counts 260 times" is 260 counter "iwd$TAG" link_down
	check "the port's counter has eight bits, and stops at its maximum" is 255 port "iwd$TAG" link_downed
else
	skip "a port goes down 260 times" "no dummy net device here"
fi
ktap_finish
