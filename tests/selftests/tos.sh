#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The type of service (traffic class) of connections: the link's value, or the value that the
# program requests, without the two bits that TCP uses (ECN).
. "$(dirname "$0")/../lib/begin.sh"

begin ucmatose python3
only_iw_tcp "settings of iw_tcp"
want_settings
two_links
settings_begin

# seen: prints the values that tos.py has seen, in one line
seen() { grep -v ready "$TMP/tos" | sort | tr '\n' ' '; }

sees() { [ "$(seen)" = "$1" ]; }

# expect WHAT VALUES ADDRESS-OF-B OPTION...: connects A to B, with these options of ucmatose's
# client, and checks the values in the segments that A receives (in) and sends (out). COUNT: number of
# connections
COUNT=1
expect() {
	local what=$1 want=$2 ip=$3 family=() eyes
	shift 3
	[[ $ip != *:* ]] || family=(-f ip6)
	start in_a python3 "$IWT_LIB/tos.py" "$IF_A" 7471 >"$TMP/tos"
	eyes=$PID
	busywait "$IWT_TIME" grep -q ready "$TMP/tos"
	pair "$what" 7471 "ucmatose -c $COUNT ${family[*]} -b $ip" "ucmatose -c $COUNT ${family[*]} -s $ip $*"
	# the program that watches may be slower than the connection
	if busywait "$IWT_TIME" sees "$want"; then
		ok "$what: $want"
	else
		not_ok "$what: $(seen)instead of $want"
	fi
	stop "$eyes"
}

# ecn N: sets net.ipv4.tcp_ecn: 1 requests ECN, even if TCP sends the SYN again; 2 only accepts ECN
ecn() {
	local ns
	for ns in "$NS_A" "$NS_B"; do
		in_net "$ns" sysctl -qw net.ipv4.tcp_ecn="$1" net.ipv4.tcp_ecn_fallback="$(($1 - 1))"
	done
}

for ip in $IP_B $IP6_B; do
	set_links tos 0
	expect "$ip: no value" "in 0x0 out 0x0 " "$ip"
	expect "$ip: the program's value" "in 0x0 out 0x60 " "$ip" -t 0x60
	expect "$ip: the program's value without TCP's bits" "in 0x0 out 0x60 " "$ip" -t 0x63
	# the program can't set the ECN bits, which would report congestion for each segment
	ecn 1
	expect "$ip: the program's value, and TCP's own bits" "in 0x2 out 0x62 " "$ip" -t 0x63
	# the delay varies, so TCP sends segments again; with a rate, netem keeps the order
	if in_a tc qdisc add dev "$IF_A" root netem delay 500ms 500ms rate 1gbit 2>/dev/null; then
		COUNT=10 expect "$ip: the same with delays" "in 0x2 out 0x62 " "$ip" -t 0x63
		in_a tc qdisc del dev "$IF_A" root
	else
		skip "$ip: the same with delays" "no netem here"
	fi
	ecn 2
	set_links tos 40
	expect "$ip: the value of both links" "in 0x28 out 0x28 " "$ip"
	expect "$ip: the program's value instead of its link's" "in 0x28 out 0x60 " "$ip" -t 0x60
	set_link $DEV_A tos 0
	expect "$ip: the value of B's link only" "in 0x28 out 0x0 " "$ip"
done
settings_end
ktap_finish
