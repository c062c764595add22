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

# seen: the values that tos.py has seen, as one line
seen() { grep -v ready "$TMP/tos" | sort | tr '\n' ' '; }

# expect WHAT IN-AND-OUT ADDRESS-OF-B OPTION...: connects A to B, and checks the values in its
# segments
expect() {
	local what=$1 want=$2 ip=$3 family=() eyes
	shift 3
	[[ $ip != *:* ]] || family=(-f ip6)
	start in_a python3 "$IWT_LIB/tos.py" "$IF_A" 7471 >"$TMP/tos"
	eyes=$PID
	busywait 10 grep -q ready "$TMP/tos"
	pair "$what" 7471 "ucmatose ${family[*]} -b $ip" "ucmatose ${family[*]} -s $ip $*"
	stop "$eyes"
	if [ "$(seen)" = "$want" ]; then
		ok "$what: $want"
	else
		not_ok "$what: $(seen)instead of $want"
	fi
}

# ecn N: sets net.ipv4.tcp_ecn: 1 requests ECN, 2 only accepts it
ecn() {
	local ns
	for ns in "$NS_A" "$NS_B"; do in_net "$ns" sysctl -qw net.ipv4.tcp_ecn="$1"; done
}

for ip in $IP_B $IP6_B; do
	set_links tos 0
	expect "$ip: none" "in 0x0 out 0x0 " "$ip"
	expect "$ip: the program's own" "in 0x0 out 0x60 " "$ip" -t 0x60
	expect "$ip: but for TCP's bits" "in 0x0 out 0x60 " "$ip" -t 0x63
	# the program can't set the ECN bits, which would report congestion for each segment
	ecn 1
	expect "$ip: beside TCP's bits" "in 0x2 out 0x62 " "$ip" -t 0x63
	ecn 2
	set_links tos 40
	expect "$ip: the links'" "in 0x28 out 0x28 " "$ip"
	expect "$ip: the program's own instead" "in 0x28 out 0x60 " "$ip" -t 0x60
	set_link $DEV_A tos 0
	expect "$ip: one link's" "in 0x28 out 0x0 " "$ip"
done
settings_end
ktap_finish
