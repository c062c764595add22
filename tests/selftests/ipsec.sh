#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Connections over IPsec (ESP in transport mode): all operations, startup and Terminates work, all
# TCP segments are in ESP packets without plain data, and without keys no data are sent unencrypted.
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/wire.sh
. "$IWT_LIB/wire.sh"

begin iwt_verify rping tcpdump
only_with COUNTERS

# The key, and for each direction of IPv4 and IPv6: source, destination, number (SPI)
AEAD=(aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128)
PAIRS=("$IP_A $IP_B 0x1001" "$IP_B $IP_A 0x1002")
[ ! -d /proc/sys/net/ipv6 ] || PAIRS+=("$IP6_A $IP6_B 0x1003" "$IP6_B $IP6_A 0x1004")

# keys: gives A and B the same keys
keys() {
	local ns src dst spi
	for ns in "$NS_A" "$NS_B"; do
		while read -r src dst spi; do
			ip -n "$ns" xfrm state add src "$src" dst "$dst" proto esp spi "$spi" reqid 1 \
				mode transport "${AEAD[@]}" || return
		done < <(printf '%s\n' "${PAIRS[@]}")
	done
}
no_keys() { ip -n "$NS_A" xfrm state flush && ip -n "$NS_B" xfrm state flush; }

# policies: all TCP packets between A and B must be encrypted by ESP
policies() {
	local ns src dst spi way
	for ns in "$NS_A $IP_A $IP6_A" "$NS_B $IP_B $IP6_B"; do
		while read -r src dst spi; do
			way=in
			[[ " $ns " != *" $src "* ]] || way=out
			ip -n "${ns%% *}" xfrm policy add src "$src" dst "$dst" proto tcp dir "$way" \
				tmpl proto esp reqid 1 mode transport level required || return
		done < <(printf '%s\n' "${PAIRS[@]}")
	done
}

# ipsec_on: captures the packets between A and B
ipsec_on() { wire_on "$IF_A" "ip proto 50 or ip6 proto 50 or tcp"; }

pings() {
	pair "$1: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"
}

without() {
	ipsec_on
	pings "without IPsec"
	wire_off
	check "without IPsec: the wire shows startup and data" shows_plain
	check "without IPsec: no ESP" [ "$(packets "ip proto 50")" = 0 ]
}

with() {
	ipsec_on
	pings "ESP"
	wire_off
	check "ESP: the wire shows nothing of startup and data" not shows_plain
	check "ESP: packets of ESP" [ "$(packets "ip proto 50")" -gt 20 ]
	check "ESP: no unencrypted segment of TCP" [ "$(packets tcp)" = 0 ]
	# This run includes errors, after which a connection ends by a Terminate
	verify_pair "ESP, with Terminates" $IP_B --max-size 3000 --rounds 1 --no-events --no-wr
	verify_pair "ESP" $IP_B --brief --no-neg --no-events
	[ ! -d /proc/sys/net/ipv6 ] || verify_pair "ESP, IPv6" $IP6_B --brief --no-neg --no-events
}

received() { counter "$DEV_B" rx_bytes; }

# The keys are deleted during traffic: the traffic stops, and no data are sent unencrypted
taken_away() {
	local before
	check "keys are deleted: traffic before" traffic_rping
	ipsec_on
	no_keys
	nap 1
	before=$(received)
	nap 3
	check "keys are deleted: nothing arrives" [ "$(received)" = "$before" ]
	wire_off
	check "keys are deleted: nothing is sent unencrypted" [ "$(packets tcp)" = 0 ]
	keys
	check "keys are back: the same connection goes on" busywait "$IWT_TIME" arrives "$before"
	check "keys are back: the client still runs" alive "$CLI"
	stop "$CLI" "$SRV"
	no_keys
	start in_b rping -s -a $IP_B >"$TMP/server" 2>&1
	wait_listen "$NS_B" 7174
	check "without keys: no connection" nobody_there
	keys
	check "with keys: a connection" in_a rping -c -a $IP_B -C 1 -v
}

# nobody_there: does a client of the listening server get no connection?
nobody_there() {
	iwt_patient 60 ip netns exec "$NS_A" rping -c -a "$IP_B" -C 1 -v >"$TMP/talk" 2>&1
	[ $? = 124 ] || grep -q 'RDMA_CM_EVENT_\(UNREACHABLE\|CONNECT_ERROR\|ROUTE_ERROR\)' "$TMP/talk"
}
arrives() { [ "$(received)" -gt "$1" ]; }

two_links
modprobe -q esp4
modprobe -q esp6
keys 2>"$TMP/why" || skip_all "no IPsec here: $(head -n 1 "$TMP/why")"
no_keys
without
check "A and B get keys" keys
check "A and B get policies" policies
with
taken_away
ktap_finish
