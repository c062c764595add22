#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The link, or the netdev below it, goes away under traffic.
. "$(dirname "$0")/../lib/begin.sh"

begin rping ib_write_bw

# The client ends by itself, with an error or without; perftest's client may crash while it
# ends, and the gate of the laboratory checks where it crashed.
both_end() {
	local rc=0
	ended "$CLI" 60 || rc=$?
	echo "status $rc"
	stop "$SRV"
	[ $rc -lt 124 ] || [ $rc = 255 ] || { [ $rc = 139 ] && [ "$KIND" = traffic ]; }
}

again() {
	cleanup_links
	two_links
}
cleanup_links() {
	local x
	for x in "${MADE_DEV[@]}"; do
		# shellcheck disable=SC2086
		link_del $x 2>/dev/null
	done
	for x in "${MADE_NS[@]}"; do ns_del "$x"; done
	busywait 20 no_link "$DEV_A"
	busywait 20 no_link "$DEV_B"
	MADE_NS=() MADE_DEV=()
}

# out WHAT COMMAND...: runs COMMAND under traffic
out() {
	local what=$1 kind
	shift
	for kind in traffic traffic_rping; do
		again
		MOVING_FROM=
		KIND=$kind
		$kind || { not_ok "$what: $kind runs"; stop "$CLI" "$SRV"; continue; }
		check "$what under $kind" timeout 60 "$@"
		check "$what under $kind: the link is gone" busywait 20 no_link "$GONE"
		check "$what under $kind: its user ends" both_end
		stop "$CLI" "$SRV"
	done
}

GONE=$DEV_A
out "link removed at the client" ip netns exec "$NS_A" rdma link delete "$DEV_A"
out "netdev removed at the client" ip -n "$NS_A" link delete "$IF_A"
GONE=$DEV_B
out "link removed at the server" ip netns exec "$NS_B" rdma link delete "$DEV_B"

again
MOVING_FROM=
traffic_rping
ip -n "$NS_A" link set "$IF_A" down
check "netdev down under traffic: the link stays" rdma link show "$DEV_A/1"
ip -n "$NS_A" link set "$IF_A" up
ip -n "$NS_A" addr add $IP6_A/64 dev "$IF_A" nodad 2>/dev/null
stop "$CLI" "$SRV"
busywait 20 in_a ping -c 1 -W 1 $IP_B
pair "after netdev down and up: rping" 7174 "rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"
ktap_finish
