#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Network namespaces: each link belongs to the namespace of its net device, and is deleted with this
# namespace, or when the net device moves to another namespace. In the mode "shared" of the RDMA
# core, all namespaces see all RDMA devices. In the mode "exclusive", an RDMA device is visible in
# its namespace only, and the device can move to another namespace without its net device.
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/users.sh
. "$IWT_LIB/users.sh"

LISTEN=$(dirname "$0")/../peer/listen.py
NS_C=iwt-$TAG-c NS_D=iwt-$TAG-d IF_C=i${TAG}c

# listener NAME COMMAND...: starts COMMAND and waits until it prints "listening"
listener() {
	start "${@:2}" >"$TMP/listen-$1"
	busywait "$IWT_TIME" grep -q listening "$TMP/listen-$1"
}

# free_in NS PORT: waits until no TCP socket in NS listens on PORT
free_in() { in_net "$1" bash "$IWT_LIB/wait.sh" 5 port_is "$2" no; }

# wildcards MODE: tests that a wildcard listener gets connections of its own namespace only,
# although rdma_cm listens on all links. MODE is the mode of the RDMA core.
wildcards() {
	local mode=$1 here a b
	check "$mode: a listener of the first namespace" listener here python3 "$LISTEN" rdma 0.0.0.0 7190
	here=$PID
	check "$mode: this listener uses no port in A" free_in "$NS_A" 7190
	check "$mode: this listener uses no port in B" free_in "$NS_B" 7190
	start in_a rping -s -P -p 7191
	a=$PID
	start in_b rping -s -P -p 7191
	b=$PID
	check "$mode: A listens on any address" wait_listen "$NS_A" 7191
	check "$mode: B listens on any address and the same port" wait_listen "$NS_B" 7191
	check "$mode: A reaches B" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" rping -c -a $IP_B -p 7191 -C 3 -v
	check "$mode: B reaches A" iwt_patient "$IWT_TIME" ip netns exec "$NS_B" rping -c -a $IP_A -p 7191 -C 3 -v
	check "$mode: both servers still run" eval "alive $a && alive $b"
	stop "$a" "$b" "$here"
}

# twin: makes a namespace C that looks like A to older kernels: C's net device has the same ifindex,
# MAC address and IP address as A's net device. (ip runs in C, because older kernels look for the
# ifindex in the namespace of the caller.)
twin() {
	local index mac
	index=$(in_a cat "/sys/class/net/$IF_A/ifindex")
	mac=$(in_a cat "/sys/class/net/$IF_A/address")
	ns_add "$NS_C" && ns_add "$NS_D" &&
		in_net "$NS_C" ip link add "$IF_C" index "$index" address "$mac" type veth peer name "$IF_C" netns "$NS_D" &&
		ip -n "$NS_C" addr add $IP_A/24 dev "$IF_C" && ip -n "$NS_D" addr add $IP_B/24 dev "$IF_C" &&
		ip -n "$NS_C" link set "$IF_C" up && ip -n "$NS_D" link set "$IF_C" up &&
		busywait 20 in_net "$NS_C" ping -c 1 -W 1 $IP_B
}

# unable COMMAND...: does COMMAND fail by itself? The exit status of rping may be 255 in this case;
# an older rping prints the reason and does not end.
unable() {
	local rc=0
	"$@" >"$TMP/unable" 2>&1 || rc=$?
	cat "$TMP/unable"
	echo "status $rc"
	[ $rc -eq 255 ] || failed_itself $rc || { [ $rc -eq 124 ] && grep -q '^connect error' "$TMP/unable"; }
}

# dialling: tests that a process cannot connect over a link of another namespace
dialling() {
	local srv
	check "shared: a namespace like A" twin
	start in_b rping -s -P -p 7192 -a $IP_B
	srv=$PID
	wait_listen "$NS_B" 7192
	check "shared: a client in this namespace can't use A's link" unable iwt_patient 20 ip netns exec "$NS_C" rping -c -a $IP_B -p 7192 -C 1
	check "shared: a client in A can use A's link" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" rping -c -a $IP_B -p 7192 -C 3 -v
	stop "$srv"
	ns_del "$NS_C"
	ns_del "$NS_D"
}

# moving: tests a kernel consumer that connects over a link whose net device has moved to another
# namespace, while the link is being deleted
moving() {
	local run
	if ! ktest_load; then
		skip "moved" "no module iwt_ktest or no debugfs here"
		return
	fi
	ns_add "$NS_C"
	# A socket in C needs this address
	ip -n "$NS_C" addr add $IP_A/24 dev lo
	ktest moved &
	run=$!
	check "moved: two queue pairs wait" busywait "$IWT_TIME" two_wait
	ip -n "$NS_A" link set "$IF_A" netns "$NS_C"
	echo >$KTEST/go
	wait $run
	ktest_results moved
	check "moved: the link is deleted" busywait 20 not visible_here "$DEV_A"
	ktest_unload
	ip -n "$NS_C" link set "$IF_A" netns "$NS_A"
	ns_del "$NS_C"
	check "moved: a new link in A" link_add "$NS_A" "$DEV_A" "$IF_A"
}

two_wait() { [ "$(rdma resource show qp link "$DEV_A" | grep -c rdma_cm)" -eq 2 ]; }

begin rdma rping python3 iwt_unplug iwt_conn

visible() { ip netns exec "$1" rdma dev show "$2" >/dev/null 2>&1; }
visible_here() { rdma dev show "$1" >/dev/null 2>&1; }
mode_was=$(rdma system show | sed -n 's/.*netns \([a-z]*\).*/\1/p')
# The kernel changes the mode only when no other namespace is left, and the kernel may destroy a
# namespace long after its deletion
restore_mode() { [ -z "$mode_was" ] || busywait 70 rdma system set netns "$mode_was"; }
trap 'cleanup; restore_mode' EXIT

shared() {
	rdma system set netns shared || return
	setup 1500 || { not_ok "shared: two links"; return; }
	pair "shared: rping" 7174 "rping -s -a $IP_B -C 5 -V" "rping -c -a $IP_B -C 5 -V -v"
	refuse "shared: an RDMA device can't be moved" in_a rdma dev set "$DEV_A" netns "$NS_B"
	check "shared: B sees A's link" visible "$NS_B" "$DEV_A"
	wildcards shared
	dialling
	moving
	ns_del "$NS_A"
	check "shared: A's link is deleted with its namespace" busywait 10 not visible_here "$DEV_A"
	# The kernel deleted A's end of the veth pair with A, and therefore also B's end
	check "shared: B's link is deleted with the veth pair" busywait 10 not visible_here "$DEV_B"
	ns_del "$NS_B"
	MADE_NS=() MADE_DEV=()
}

exclusive() {
	# The kernel changes the mode only when no other namespace is left. A namespace of
	# an earlier test lasts until TCP gives up sending its last bytes to a peer that no
	# longer exists.
	if ! busywait 180 rdma system set netns exclusive; then
		if ! in_laboratory && [ "$(lsns -nt net -o NS | wc -l)" -gt 1 ]; then
			skip "exclusive mode" "there are other network namespaces"
		else
			not_ok "exclusive mode can be set: another network namespace still exists"
			lsns -t net 2>&1 | diag
		fi
		return
	fi
	setup 1500 || { not_ok "exclusive: two links"; return; }
	ok "exclusive: a link in each of two namespaces"
	check "exclusive: A sees its own link" visible "$NS_A" "$DEV_A"
	check "exclusive: B does not see A's link" not visible "$NS_B" "$DEV_A"
	check "exclusive: the initial namespace does not see A's link" not visible_here "$DEV_A"
	pair "exclusive: rping" 7174 "rping -s -a $IP_B -C 5 -V" "rping -c -a $IP_B -C 5 -V -v"
	wildcards exclusive
	pair "exclusive: ib_send_bw" 18515 "ib_send_bw -R -F -n 50" "ib_send_bw -R -F -n 50 $IP_B"
	[ "$IWT_LINK_TYPE" != iw_tcp ] || { device_moves; anew || return; }
	start in_b rping -s -a $IP_B -P -S 1000
	wait_listen "$NS_B" 7174
	start in_a rping -c -a $IP_B -S 1000
	wait_in 20 "$NS_A" connections 7174
	ns_del "$NS_A"
	check "exclusive: a namespace is deleted during traffic" busywait 30 not listed "$NS_A"
	ns_del "$NS_B"
	check "exclusive: the mode is set back to shared" busywait 70 rdma system set netns shared
	check "exclusive: no link of a deleted namespace is left" busywait 20 no_links
	MADE_NS=() MADE_DEV=()
}

# move FROM TO: moves A's RDMA device, but not its net device; FROM "" is the initial namespace
move() { in_ns "$1" rdma dev set "$DEV_A" netns "$2"; }
rping_a_to_b() { pair "$1" 7174 "rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"; }
# no_way NS: does a client in NS get no connection to B?
no_way() { unable iwt_patient 20 ip netns exec "$1" rping -c -a $IP_B -p 7193 -C 1; }

# taken_in NS PORT: waits until a TCP socket in NS listens on PORT
taken_in() { in_net "$1" bash "$IWT_LIB/wait.sh" "$IWT_TIME" port_is "$2" yes; }

# rdma_cm listens on a new link, and on a link whose device returns to the namespace. If another
# socket has the port at that time, rdma_cm must still accept the link, and the listener waits until
# the port is free.
busy_port() {
	local tcp rdma
	link_del "$NS_A" "$DEV_A"
	check "busy port: a listener without a link" listener rdma in_a python3 "$LISTEN" rdma 0.0.0.0 7195
	rdma=$PID
	check "busy port: a TCP listener on the same port" listener tcp in_a python3 "$LISTEN" tcp 0.0.0.0 7195
	tcp=$PID
	check "busy port: a new link" link_add "$NS_A" "$DEV_A" "$IF_A"
	rping_a_to_b "busy port: rping"
	check "busy port: the device moves to C" move "$NS_A" "$NS_C"
	check "busy port: the device moves back to A" move "$NS_C" "$NS_A"
	rping_a_to_b "busy port: rping after the device moved"
	stop "$tcp"
	check "busy port: the RDMA listener gets the port when it is free" taken_in "$NS_A" 7195
	stop "$rdma"
	check "busy port: the port is free when the listener has ended" free_in "$NS_A" 7195
}

# An RDMA device moves to another namespace without its net device. While the RDMA device and the
# net device are in different namespaces, connections are refused. When both are in the same
# namespace, connections work again.
device_moves() {
	local srv
	ns_add "$NS_C"
	if ! check "apart: users of the device are ready" users_begin; then
		diag <"$TMP/users"
		stop "$USERS" "$SRV" "$SILENT"
		return
	fi
	check "apart: the device moves while programs wait" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" rdma dev set "$DEV_A" netns "$NS_C"
	users_end "apart"
	check "apart: C sees the device" visible "$NS_C" "$DEV_A"
	check "apart: A does not see the device" not visible "$NS_A" "$DEV_A"
	start in_b rping -s -P -p 7193 -a $IP_B
	srv=$PID
	wait_listen "$NS_B" 7193
	check "apart: no connection from the namespace of the net device" no_way "$NS_A"
	ip -n "$NS_C" addr add $IP_A/24 dev lo
	check "apart: no connection from the namespace of the RDMA device" no_way "$NS_C"
	start ip netns exec "$NS_C" rping -s -P -p 7194
	check "apart: a wildcard listener in C uses no port in C" free_in "$NS_C" 7194
	check "apart: a wildcard listener in C uses no port in A" free_in "$NS_A" 7194
	stop "$PID" "$srv"
	refuse "apart: no second link on the net device" link_add "$NS_A" "${DEV_A}2" "$IF_A"
	check "the device moves back" move "$NS_C" "$NS_A"
	rping_a_to_b "the device is back: rping"
	busy_port

	check "the device's namespace is deleted: the device moves there" move "$NS_A" "$NS_C"
	ns_del "$NS_C"
	check "the device's namespace is deleted: the device moves to the initial one" busywait "$IWT_TIME" visible_here "$DEV_A"
	check "the device's namespace is deleted: the device moves back to A" move "" "$NS_A"
	rping_a_to_b "the device's namespace was deleted: rping"

	ns_add "$NS_D"
	check "the net device follows: the device moves to D" move "$NS_A" "$NS_D"
	check "the net device follows: it moves to D" ip -n "$NS_A" link set "$IF_A" netns "$NS_D"
	check "the net device follows: the link is deleted" busywait "$IWT_TIME" not visible "$NS_D" "$DEV_A"
	ip -n "$NS_D" addr add $IP_A/24 dev "$IF_A"
	ip -n "$NS_D" link set "$IF_A" up
	check "a new link in D" link_add "$NS_D" "$DEV_A" "$IF_A"
	check "the device of this link moves to A" move "$NS_D" "$NS_A"
	ip -n "$NS_D" link set "$IF_A" netns "$NS_A"
	check "this link is deleted when its net device leaves D" busywait "$IWT_TIME" not visible "$NS_A" "$DEV_A"
	ip -n "$NS_A" addr add $IP_A/24 dev "$IF_A"
	ip -n "$NS_A" link set "$IF_A" up
	check "a new link in A" link_add "$NS_A" "$DEV_A" "$IF_A"
	busywait 20 in_a ping -c 1 -W 1 $IP_B
	rping_a_to_b "a new link: rping"
	check "net device deleted in A: the device moves to D" move "$NS_A" "$NS_D"
	check "net device deleted in A: it can be deleted" ip -n "$NS_A" link del "$IF_A"
	check "net device deleted in A: the link is deleted" busywait "$IWT_TIME" not visible "$NS_D" "$DEV_A"
	ns_del "$NS_D"
}

# anew: deletes A and B, and makes them and their links again
anew() {
	link_del "$NS_B" "$DEV_B" 2>/dev/null
	ns_del "$NS_A"
	ns_del "$NS_B"
	busywait 20 no_links
	MADE_NS=() MADE_DEV=()
	setup 1500 || { not_ok "two new links"; return 1; }
}

listed() { ip netns list | grep -q "^$1\b"; }
no_links() { not visible_here "$DEV_A" && not visible_here "$DEV_B"; }

shared
exclusive
ktap_finish
