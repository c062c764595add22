#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Connections over VLANs, bridges and bonds, with link-local addresses, and to a wildcard listener
# over several links: checks which link serves which address.
. "$(dirname "$0")/../lib/begin.sh"

begin rping ib_send_bw
only_with COUNTERS

# Net devices. The net devices in one column are connected with each other:
# A: IF_A   VL_A, VLAN on IF_A   IF2_A in bridge BR_A   IF3_A in bond BO_A
# B: IF_B   VL_B, VLAN on IF_B   IF2_B                  IF3_B
VL_A=v$IF_A VL_B=v$IF_B BR_A=b$IF_A BO_A=o$IF_A
IF2_A=j${TAG}a IF2_B=j${TAG}b IF3_A=k${TAG}a IF3_B=k${TAG}b

# pair_add NETDEV-OF-A NETDEV-OF-B: makes a veth pair
pair_add() { ip link add "$1" netns "$NS_A" type veth peer name "$2" netns "$NS_B"; }

# addresses NETDEV-OF-A NETDEV-OF-B N: gives both net devices addresses of network N, sets both up,
# and waits until A gets answers from B
addresses() {
	local ns dev host
	for host in 1 2; do
		ns=$NS_A dev=$1
		[ $host = 1 ] || ns=$NS_B dev=$2
		ip -n "$ns" addr add 10.77.$3.$host/24 dev "$dev" || return
		ip -n "$ns" addr add fd77:$3::$host/64 dev "$dev" nodad || return
		ip -n "$ns" link set "$dev" up || return
	done
	busywait 20 in_net "$NS_A" ping -c 1 -W 1 "10.77.$3.2" &&
		busywait 20 in_net "$NS_A" ping -6 -c 1 -W 1 "fd77:$3::2"
}

# both WHAT N: tests connections between the addresses of network N
both() {
	local ip
	for ip in 10.77.$2.2 fd77:$2::2; do
		pair "$1, $ip" 7174 "rping -s -a $ip -C 5 -V -S 60000" "rping -c -a $ip -C 5 -V -v -S 60000"
	done
	pair "$1, ib_send_bw" 18515 "ib_send_bw -R -F -n 50" "ib_send_bw -R -F -n 50 10.77.$2.2"
}

# serve ADDRESS: starts rping as a server for any number of clients; SRV is its pid
serve() {
	wait_free "$NS_B" 7174
	start in_b rping -s -P -a "$1" -V >"$TMP/serve" 2>&1
	SRV=$PID
	wait_listen "$NS_B" 7174
}

# talk ADDRESS: runs a client that connects to ADDRESS
talk() {
	local client="rping -c -a $1 -C 5 -V -v" rc
	# shellcheck disable=SC2086
	iwt_patient "$IWT_TIME" ip netns exec "$NS_A" $client >"$TMP/talk" 2>&1
	rc=$?
	cat "$TMP/talk"
	well $rc "$client" "$TMP/talk"
}

# by WHAT ADDRESS LINK: checks that a client that connects to ADDRESS gets a connection of B's LINK
by() {
	local before
	before=$(counter "$3" conn_passive)
	check "$1: a connection" talk "$2"
	check "$1: of the right link" [ "$(counter "$3" conn_passive)" -eq $((before + 1)) ]
}

# nobody ADDRESS: is a client that connects to ADDRESS refused?
nobody() {
	! talk "$1" && grep -q 'RDMA_CM_EVENT_\(REJECTED\|UNREACHABLE\|CONNECT_ERROR\)' "$TMP/talk"
}

vlan() {
	local ip ll
	ip -n "$NS_A" link add link "$IF_A" name "$VL_A" type vlan id 7 2>"$TMP/why" &&
		ip -n "$NS_B" link add link "$IF_B" name "$VL_B" type vlan id 7 2>"$TMP/why" ||
		{ skip "VLANs" "$(head -n 1 "$TMP/why")"; return; }
	addresses "$VL_A" "$VL_B" 7 || { not_ok "VLANs"; return; }
	both "VLANs, links below them" 7
	serve ::
	by "all addresses, links below the VLANs" 10.77.7.2 "$DEV_B"
	stop "$SRV"
	check "a link on the VLAN of A" link_add "$NS_A" "${DEV_A}v" "$VL_A"
	check "a link on the VLAN of B" link_add "$NS_B" "${DEV_B}v" "$VL_B"
	both "VLANs" 7
	serve ::
	# A VLAN has the same link-local address as the net device below it
	ll=$(own_address "$NS_B" "$VL_B")
	for ip in $IP_B $IP6_B 10.77.7.2 fd77:7::2 "$ll%$IF_A" "$ll%$VL_A"; do
		check "all addresses, links on VLAN and below: ${ip/*%/link-local, }" talk "$ip"
	done
	link_del "$NS_B" "$DEV_B"
	by "all addresses, without the link below" 10.77.7.2 "${DEV_B}v"
	by "all addresses, without the link below: an address below" $IP_B "${DEV_B}v"
	by "all addresses, without the link below: link-local" "$ll%$VL_A" "${DEV_B}v"
	check "all addresses, without the link below: the server still runs" alive "$SRV"
	stop "$SRV"
	pair "link-local address of a VLAN" 7174 "rping -s -a $ll%$VL_B -C 5 -V" "rping -c -a $ll%$VL_A -C 5 -V -v"
	link_del "$NS_B" "${DEV_B}v"
	check "a link below the VLAN again" link_add "$NS_B" "$DEV_B" "$IF_B"
}

bridge() {
	pair_add "$IF2_A" "$IF2_B"
	ip -n "$NS_A" link add "$BR_A" type bridge forward_delay 0 2>"$TMP/why" ||
		{ skip "a bridge" "$(head -n 1 "$TMP/why")"; return; }
	ip -n "$NS_A" link set "$IF2_A" master "$BR_A" up
	addresses "$BR_A" "$IF2_B" 8 || { not_ok "a bridge"; return; }
	check "a link on a bridge" link_add "$NS_A" "${DEV_A}b" "$BR_A"
	check "a link in B, connected with the bridge" link_add "$NS_B" "${DEV_B}2" "$IF2_B"
	both "bridge" 8
}

bond() {
	pair_add "$IF3_A" "$IF3_B"
	ip -n "$NS_A" link add "$BO_A" type bond mode active-backup miimon 100 2>"$TMP/why" ||
		{ skip "a bond" "$(head -n 1 "$TMP/why")"; return; }
	ip -n "$NS_A" link set "$IF3_A" master "$BO_A"
	addresses "$BO_A" "$IF3_B" 9 || { not_ok "a bond"; return; }
	check "a link on a bond" link_add "$NS_A" "${DEV_A}o" "$BO_A"
	check "a link in B, connected with the bond" link_add "$NS_B" "${DEV_B}3" "$IF3_B"
	both "bond" 9
}

# own_address NS NETDEV: prints the link-local address that the kernel has given NETDEV
own_address() { ip -n "$1" -o -6 addr show dev "$2" scope link | sed -n '1s|.* inet6 \([^/]*\)/.*|\1|p'; }

link_local() {
	local ll dev
	ll=$(own_address "$NS_B" "$IF_B")
	pair "link-local address" 7174 "rping -s -a $ll%$IF_B -C 5 -V" "rping -c -a $ll%$IF_A -C 5 -V -v"
	serve ::
	by "link-local address, all addresses" "$ll%$IF_A" "$DEV_B"
	# Two net devices have the same address: rdma_cm uses the first net device
	for dev in $IF_B $IF2_B; do ip -n "$NS_B" addr add fe80::77:2/64 dev "$dev" nodad; done
	for dev in $IF_A $BR_A; do
		by "link-local address of two net devices, by $([ "$dev" = "$BR_A" ] && echo second || echo first)" "fe80::77:2%$dev" "$DEV_B"
	done
	stop "$SRV"
	serve "fe80::77:2%$IF_B"
	by "link-local address of two net devices, one listens" "fe80::77:2%$IF_A" "$DEV_B"
	check "link-local address of two net devices, the other does not listen" nobody "fe80::77:2%$BR_A"
	stop "$SRV"
}

several() {
	local all
	# An address on a net device without a link
	ip -n "$NS_B" link add "d$IF_B" type dummy
	ip -n "$NS_B" addr add 10.77.99.2/32 dev "d$IF_B"
	ip -n "$NS_B" link set "d$IF_B" up
	ip -n "$NS_A" route add 10.77.99.2 via $IP_B
	for all in :: 0.0.0.0; do
		serve $all
		by "$all over two links, the first" $IP_B "$DEV_B"
		by "$all over two links, the second" 10.77.8.2 "${DEV_B}2"
		check "$all, no link: refused" nobody 10.77.99.2
		link_del "$NS_B" "${DEV_B}2"
		check "$all, the second link is gone: refused" nobody 10.77.8.2
		by "$all, the second link is gone: the first works" $IP_B "$DEV_B"
		link_add "$NS_B" "${DEV_B}2" "$IF2_B"
		by "$all, a link that is added while the server listens" 10.77.8.2 "${DEV_B}2"
		stop "$SRV"
	done
}

two_links
vlan
bridge
bond
link_local
several
ktap_finish
