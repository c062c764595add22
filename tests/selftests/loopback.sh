#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Listeners on loopback addresses. For rdma_cm a loopback address is like a wildcard address:
# rdma_cm listens on the links of all namespaces. So a listener in one namespace must not make links
# of another namespace fail, and these links must not make the listener fail. The listener gets its
# connections on the link on lo, whatever other links exist (not tested on older kernels, whose
# rdma_cm finds no link on lo). On a new link, the listener waits until lo has its address and its
# port is free.
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/gid.sh
. "$IWT_LIB/gid.sh"

LISTEN=$(dirname "$0")/../peer/listen.py
ADDRESSES=(127.0.0.1 127.9.8.7 ::1)
LISTENERS=()

# listener NS ADDRESS PORT: starts a process that listens; its pid is in PID
listener() {
	start nsenter --net="/run/netns/$1" python3 "$LISTEN" rdma "$2" "$3" >"$TMP/listen-$3" 2>&1
	busywait "$IWT_TIME" listens_or_ended "$PID" "$3"
	grep -q listening "$TMP/listen-$3"
}
# listens_or_ended PID PORT: does the process listen on PORT, or has it ended?
listens_or_ended() { grep -q listening "$TMP/listen-$2" || not alive "$1"; }

rping_a_to_b() { pair "$1" 7174 "rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"; }
# free_in NS PORT: waits until no TCP socket in NS listens on PORT
free_in() { in_net "$1" bash "$IWT_LIB/wait.sh" 5 port_is "$2" no; }

# Tests listeners in A, which has no link, together with a link in B
neighbours() {
	local i port=7300
	for i in "${ADDRESSES[@]}"; do
		check "A, without a link, listens on $i" listener "$NS_A" "$i" $((++port))
		LISTENERS+=("$PID")
	done
	check "a link is added in B while A listens" link_add "$NS_B" "$DEV_B" "$IF_B"
	check "rdma_cm listens on the link in B" listener "$NS_B" $IP_B 7260
	stop "$PID"
	port=7310
	for i in "${ADDRESSES[@]}"; do
		check "A listens on $i while B has a link" listener "$NS_A" "$i" $((++port))
		LISTENERS+=("$PID")
		check "the listener on $i uses no port in A" free_in "$NS_A" $port
		check "the listener on $i uses no port in B" free_in "$NS_B" $port
	done
}

# Tests a new link in A. At first the listeners can't use this link, because lo has no address.
new_links() {
	ip -n "$NS_A" addr flush dev lo
	check "a link in A, where lo has no address" link_add "$NS_A" "$DEV_A" "$IF_A"
	check "rdma_cm listens on the link in A" listener "$NS_A" $IP_A 7260
	stop "$PID"
	rping_a_to_b "the link in A connects"
	check "the listener on ${ADDRESSES[0]} waits for its address" free_in "$NS_A" 7301
	ip -n "$NS_A" addr add 127.0.0.1/8 dev lo
	ip -n "$NS_A" addr add ::1/128 dev lo 2>/dev/null
	check "it listens when lo has the address" wait_listen "$NS_A" 7301
	check "the listener on ${ADDRESSES[1]} listens, too" wait_listen "$NS_A" 7302
	[ ! -d /proc/sys/net/ipv6 ] || check "the listener on ${ADDRESSES[2]} listens, too" wait_listen "$NS_A" 7303
	check "all listeners still run" all_live
	stop "${LISTENERS[@]}"
	LISTENERS=()
}
all_live() { local pid; for pid in "${LISTENERS[@]}"; do alive "$pid" || return; done; }

# over_lo WHAT: tests connections in A over lo, with links on lo and on the veth device ("card"). B
# must have no link, because a client of a loopback address gets the first link of all namespaces.
over_lo() {
	local i
	for i in "${ADDRESSES[@]}"; do
		start in_a rping -s -a "$i" -p 7270 -C 3 -V
		check "$1: a server on $i" wait_listen "$NS_A" 7270
		check "$1: a client" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" rping -c -a "$i" -p 7270 -C 3 -V -v
		check "$1: the server ends" ended "$PID"
		wait_free "$NS_A" 7270
	done
}

# rejected ADDRESS PORT: does rping report that its connection request is rejected, and end?
rejected() {
	local rc=0
	iwt_patient "$IWT_TIME" ip netns exec "$NS_A" rping -c -a "$1" -p "$2" -C 1 >"$TMP/rejected" 2>&1 || rc=$?
	cat "$TMP/rejected"
	[ $rc != 124 ] || return 124
	[ $rc != 0 ] && grep -q 'RDMA_CM_EVENT_REJECTED, error -104' "$TMP/rejected"
}

# As quickstart.rst says, a link on the card does not serve the addresses of lo
without_lo() {
	local server

	check "a server on 127.0.0.1, without a link on lo" listener "$NS_A" 127.0.0.1 7271
	server=$PID
	check "a client is rejected" rejected 127.0.0.1 7271
	stop "$server"
	wait_free "$NS_A" 7271
}

lo_and_card() {
	local early

	link_del "$NS_B" "$DEV_B"
	gid_follows "$DEV_A" || without_lo
	check "a link on lo, after the link on the card" link_add "$NS_A" "${DEV_A}lo" lo
	if gid_follows "$DEV_A"; then
		skip "connections over lo" "rdma_cm of this kernel finds no link on lo"
		return
	fi
	over_lo "card first"
	link_del "$NS_A" "$DEV_A"
	check "a link on the card, after the link on lo" link_add "$NS_A" "$DEV_A" "$IF_A"
	over_lo "lo first"
	# the listener exists before both links
	link_del "$NS_A" "$DEV_A"
	link_del "$NS_A" "${DEV_A}lo"
	check "a listener without a link" listener "$NS_A" 127.0.0.1 7272
	early=$PID
	check "listener before links: a link on the card" link_add "$NS_A" "$DEV_A" "$IF_A"
	check "listener before links: a link on lo" link_add "$NS_A" "${DEV_A}lo" lo
	check "listener before links: the listener listens" wait_listen "$NS_A" 7272
	stop "$early"
	over_lo "after a listener before links"
}

begin rdma rping python3 ip
only_iw_tcp "other drivers are not tested"
modprobe -q rdma_ucm
two_namespaces
neighbours
new_links
lo_and_card
ktap_finish
