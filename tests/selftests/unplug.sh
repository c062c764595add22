#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The link, or its net device, is removed: during traffic, and while programs wait (in each of the
# calls that wait), post, register, poll without a pause, or do not use the device any more. Also
# removes many links at once, and a link with many connections.
# IWT_MANY: number of links (20); IWT_CONNECTED: number of connections (200)
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/users.sh
. "$IWT_LIB/users.sh"

begin rping ib_write_bw iwt_unplug iwt_conn python3

# both_end: checks that the client ends by itself, with or without an error, and then stops the
# server. perftest's client may crash while it ends; the gate of the laboratory checks where the
# client crashed.
both_end() {
	local rc=0
	ended "$CLI" 60 || rc=$?
	echo "status $rc"
	stop "$SRV"
	[ $rc -lt 124 ] || [ $rc = 255 ] || { [ $rc = 139 ] && [ "$KIND" = traffic ]; }
}

# out WHAT COMMAND...: runs COMMAND, which removes the link, during traffic
out() {
	local what=$1 kind
	shift
	for kind in traffic traffic_rping; do
		links_anew
		MOVING_FROM=
		KIND=$kind
		$kind || { not_ok "$what: $kind runs"; stop "$CLI" "$SRV"; continue; }
		check "$what under $kind" iwt_patient 60 "$@"
		check "$what under $kind: the link is gone" busywait 20 no_link "$GONE"
		check "$what under $kind: the client ends" both_end
		stop "$CLI" "$SRV"
	done
}

GONE=$DEV_A
out "link removed at the client" ip netns exec "$NS_A" rdma link delete "$DEV_A"
out "netdev removed at the client" ip -n "$NS_A" link delete "$IF_A"
GONE=$DEV_B
out "link removed at the server" ip netns exec "$NS_B" rdma link delete "$DEV_B"

links_anew
MOVING_FROM=
traffic_rping
ip -n "$NS_A" link set "$IF_A" down
check "netdev down under traffic: the link stays" rdma link show "$DEV_A/1"
ip -n "$NS_A" link set "$IF_A" up
ip -n "$NS_A" addr add $IP6_A/64 dev "$IF_A" nodad 2>/dev/null
stop "$CLI" "$SRV"
busywait 20 in_a ping -c 1 -W 1 $IP_B
pair "after netdev down and up: rping" 7174 "rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"
# waiting WHAT COMMAND...: runs COMMAND, which removes the link, while programs use the link in all
# ways
waiting() {
	local what=$1
	shift
	links_anew
	if ! check "$what: programs use the link" users_begin; then
		diag <"$TMP/users"
		stop "$USERS" "$SRV" "$SILENT"
		return
	fi
	check "$what while programs wait" iwt_patient "$IWT_TIME" "$@"
	check "$what while programs wait: the link is gone" busywait "$IWT_TIME" no_link "$DEV_A"
	users_end "$what"
}

# This test does not delete the namespace, because a namespace exists as long as a process is in it.
# But the net device can move to another namespace (1 means the namespace of process 1, the initial
# namespace).
waiting "netdev moved" ip -n "$NS_A" link set "$IF_A" netns 1
ip link del "$IF_A"
waiting "module unloaded" modprobe -r "$IWT_LINK_TYPE"

# Many links at once, each with a program that uses it
MANY=${IWT_MANY:-20}
many_links() {
	local i
	ns_add "$NS_A-m" || return
	for ((i = 0; i < MANY; i++)); do
		ip -n "$NS_A-m" link add "$IF_A$i" group 7 up type dummy && link_add "$NS_A-m" "$DEV_A$i" "$IF_A$i" || return
		start ip netns exec "$NS_A-m" "$IWT_BIN/iwt_unplug" "$DEV_A$i" "$IWT_TIME" async,cq_event,holds >"$TMP/many-$i" 2>&1
		HOLDERS+=("$PID")
	done
	for ((i = 0; i < MANY; i++)); do busywait "$IWT_TIME" is_ready "$TMP/many-$i" || return; done
}
none_of_them() {
	local i
	for ((i = 0; i < MANY; i++)); do no_link "$DEV_A$i" || return; done
}
HOLDERS=()
links_end
if check "$MANY links, each with a program that uses it" many_links; then
	check "all netdevs are deleted at once" iwt_patient "$IWT_TIME" ip -n "$NS_A-m" link del group 7
	check "all links are gone" busywait "$IWT_TIME" none_of_them
	kill -USR1 "${HOLDERS[@]}"
	for ((i = 0; i < MANY; i++)); do
		ended "${HOLDERS[i]}" >/dev/null
		subtests "link $i" "$TMP/many-$i" $?
	done
fi

# With many connections
CONNECTED=${IWT_CONNECTED:-200}
exchanged() { grep -q "^ok .*messages return" "$TMP/conns"; }
none_connected() { ! rdma resource show qp link "$DEV_B" | grep -q 'state RTS .* pid'; }
links_anew
start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B -b 1024 -n "$CONNECTED"
SRV=$PID
wait_listen "$NS_B" 7471
start in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B -n "$CONNECTED" -r 1 -w 64 -k >"$TMP/conns" 2>&1
CLI=$PID
if check "$CONNECTED connections" busywait "$IWT_TIME" exchanged; then
	began=${EPOCHREALTIME/./}
	check "a link with $CONNECTED connections is removed" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" rdma link delete "$DEV_A"
	echo "# in $(((${EPOCHREALTIME/./} - began) / 1000)) ms"
	check "the other link has no connection left" busywait "$IWT_TIME" none_connected
fi
stop "$CLI" "$SRV"
ktap_finish
