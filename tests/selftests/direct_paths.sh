#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Direct connections (iwt_direct) between addresses of all kinds, and over a router, which also loses
# all packets for ten seconds; many of them at once; and with processes that die.
# IWT_SEED: repeats a run. IWT_QUICK=1: two kinds of paths, 200 connections at once, not 1000, and
# the router is dead only once
. "$(dirname "$0")/../lib/begin.sh"

# shellcheck source=tests/lib/middle.sh
. "$IWT_LIB/middle.sh"

begin iwt_direct
only_iw_tcp "no other iWARP device connects without rdma_cm"
only_with DIRECT

# gid_pattern ADDRESS: prints a pattern for the GID of an address: of an IPv4 address, or of all
# IPv6 addresses that begin with the same 16 bits
gid_pattern() {
	local IFS=.
	case $1 in
	# shellcheck disable=SC2046,SC2086
	*.*) printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' $1 ;;
	*) printf '%s:*' "${1%%:*}" ;;
	esac
}
# find_gid LINK ADDRESS: sets GID to the index of the GID of ADDRESS
find_gid() {
	local dir=/sys/class/infiniband/$1/ports/1/gids pattern
	pattern=$(gid_pattern "$2")
	for ((GID = 1; GID < 16; GID++)); do
		# shellcheck disable=SC2053
		[[ $(<"$dir/$GID") = $pattern ]] && return
	done
	return 1
}
# between WHAT ADDRESS_A ADDRESS_B GROUP [OPTION...]: runs a group of tests between two addresses
between() {
	local gid_a gid_b GID
	busywait 20 find_gid "$DEV_A" "$2" || { not_ok "$1: the GID of $2"; return; }
	gid_a=$GID
	busywait 20 find_gid "$DEV_B" "$3" || { not_ok "$1: the GID of $3"; return; }
	gid_b=$GID
	tap "$1, $4" iwt_patient $((IWT_TIME * 2)) "$IWT_BIN/iwt_direct" "${@:5}" \
		${IWT_SEED:+-s "$IWT_SEED"} "$DEV_A@$NS_A" "$gid_a" "$DEV_B@$NS_B" "$gid_b" "$4"
}
# over PATH ADDRESS_A ADDRESS_B: runs the tests of a path, unless the test is quick
# always_over PATH ADDRESS_A ADDRESS_B: runs the tests of a path
over() { [ -n "${IWT_QUICK:-}" ] || always_over "$@"; }
always_over() {
	local group
	for group in basics receives; do between "$@" $group; done
	between "$@" churn -n 20
}

# forward 0|1: makes the router lose all packets (0) or none (1). A router that does not forward
# sends no ICMP error.
forward() { in_m sysctl -qw net.ipv4.ip_forward="$1"; }
# received, lost: print how many packets the router has received from A, and has lost
received() { in_m cat "/sys/class/net/$M_A/statistics/rx_packets"; }
lost() { in_m awk '/^Ip: [0-9]/ { print $6 }' /proc/net/snmp; }
# group_over: has the group of tests ended? Its end also ends the waits of dead().
group_over() { [ -e "$TMP/over" ]; }
received_more() { group_over || [ "$(received)" -ge "$1" ]; }
lost_more() { group_over || [ "$(lost)" -gt "$1" ]; }
# dead NUMBER: when the router has received about NUMBER packets from A, it loses all packets, until
# ten seconds after the first lost packet
dead() {
	local before
	before=$(lost)
	busywait "$IWT_TIME" received_more "$1"
	forward 0
	busywait "$IWT_TIME" lost_more "$before"
	group_over || nap 10
	forward 1
}
# interrupted NUMBER GROUP [OPTION...]: runs a group of tests over the router, which is dead() from
# about the packet NUMBER of the group on. No connection may fail. Adds the lost packets to LOST.
LOST=0
interrupted() {
	local pid before what="a path that is dead for ten seconds from about packet $1 on"
	before=$(lost)
	rm -f "$TMP/over"
	[ "$1" != 0 ] || forward 0
	start dead $(($(received) + $1))
	pid=$PID
	between "$what" $IP_A $FAR_B "${@:2}"
	: >"$TMP/over"
	check "$what, $2: the path works again" ended "$pid"
	echo "# $what: $(($(lost) - before)) packets were lost"
	LOST=$((LOST + $(lost) - before))
	[ "$1" != 0 ] || check "$what, $2: packets were lost" [ $LOST -gt 0 ]
}

# settled: does no IPv6 address wait for duplicate address detection? (bind() refuses such addresses.)
settled() {
	local ns
	for ns in "$NS_A" "$NS_B"; do [ -z "$(ip -6 -n "$ns" -o addr show tentative)" ] || return; done
}

two_links
busywait 20 settled
# a second address, which is greater than the address of B: B is the initiator
in_a ip addr add 10.77.0.9/24 dev "$IF_A"
over "IPv4" $IP_A $IP_B
over "IPv4, B is the initiator" 10.77.0.9 $IP_B
if [ -d /proc/sys/net/ipv6 ]; then
	over "IPv6" $IP6_A $IP6_B
	always_over "link-local" fe80:: fe80::
fi
between "IPv4" $IP_A $IP_B die
between "IPv4, B is the initiator" 10.77.0.9 $IP_B die
between "IPv4" $IP_A $IP_B many -n "$([ -n "${IWT_QUICK:-}" ] && echo 200 || echo 1000)"
check_no_objects 20 "$DEV_A" "afterwards"
check_no_objects 20 "$DEV_B" "afterwards"
links_end

middle() { routed && link_add "$NS_A" "$DEV_A" "$IF_A" && link_add "$NS_B" "$DEV_B" "$IF_B"; }
check "two links with a router between them" middle
always_over "a router" $IP_A $FAR_B
interrupted 0 basics
if [ -z "${IWT_QUICK:-}" ]; then
	[ -z "${IWT_SEED:-}" ] || RANDOM=$((IWT_SEED))
	LOST=0
	for _ in 1 2; do interrupted $((20 + RANDOM % 2000)) many -n 1000; done
	# a group may end before its path is dead, but hardly both groups
	check "packets were lost in one run at least" [ $LOST -gt 0 ]
fi
[ ! -d /proc/sys/net/ipv6 ] || over "a router, IPv6" $IP6_A $FAR6_B
ktap_finish
