#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Network namespaces: each link belongs to the namespace of its net device, and is deleted with this
# namespace, or when the net device moves to another namespace. In the mode "shared" of the RDMA
# core, all namespaces see all RDMA devices. In the mode "exclusive", an RDMA device is visible in
# its namespace only, and the device can move to another namespace without its net device; since
# Linux 7.3 two namespaces may each have an RDMA device of the same name.
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/users.sh
. "$IWT_LIB/users.sh"
# shellcheck source=tests/lib/settings.sh
. "$IWT_LIB/settings.sh"
# shellcheck source=tests/lib/cgroup.sh
. "$IWT_LIB/cgroup.sh"

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

# in_kernel PID: does the process wait in the kernel, without being interruptible?
in_kernel() { grep -q '^State:.*D' "/proc/$1/status" 2>/dev/null; }

# moving: tests a kernel consumer that connects over a link whose net device has moved to another
# namespace, while the link is being deleted. Meanwhile a new link is added on the net device.
moving() {
	local run add
	if ! ktest_load; then
		skip "moved" "no module iwt_ktest or no debugfs here"
		return
	fi
	ns_add "$NS_C"
	# if the driver wrongly opened a socket in C, the socket could use this address
	ip -n "$NS_C" addr add $IP_A/24 dev lo
	ktest moved &
	run=$!
	check "moved: two queue pairs wait" busywait "$IWT_TIME" two_wait
	ip -n "$NS_A" link set "$IF_A" netns "$NS_C"
	start ip netns exec "$NS_C" rdma link add "${DEV_A}m" type iw_tcp netdev "$IF_A"
	add=$PID
	check "moved: a link in C waits for the end of the old link" busywait "$IWT_TIME" in_kernel "$add"
	echo >$KTEST/go
	wait $run
	ktest_results moved
	check "moved: the link is deleted" busywait 20 not visible_here "$DEV_A"
	check "moved: the link in C is added" ended "$add"
	check "moved: the link in C can be deleted" link_del "$NS_C" "${DEV_A}m"
	ktest_unload
	ip -n "$NS_C" link set "$IF_A" netns "$NS_A"
	ns_del "$NS_C"
	check "moved: a new link in A" link_add "$NS_A" "$DEV_A" "$IF_A"
}

two_wait() { [ "$(rdma resource show qp link "$DEV_A" | grep -c rdma_cm)" -eq 2 ]; }

begin rdma rping python3 iwt_unplug iwt_conn ibv_devinfo

visible() { ip netns exec "$1" rdma dev show "$2" >/dev/null 2>&1; }
visible_here() { rdma dev show "$1" >/dev/null 2>&1; }
mode_was=$(rdma system show | sed -n 's/.*netns \([a-z]*\).*/\1/p')
# The kernel changes the mode only when no other namespace is left, and the kernel may destroy a
# namespace long after its deletion
restore_mode() { [ -z "$mode_was" ] || busywait 70 rdma system set netns "$mode_was"; }
trap 'rm -f "/etc/iw_tcp/$IF_C.conf"; [ ! -d "$SETTINGS/$DEV_A" ] || rmdir "$SETTINGS/$DEV_A"; cleanup; busywait 20 cg_del; restore_mode' EXIT

shared() {
	rdma system set netns shared || return
	setup 1500 || { not_ok "shared: two links"; return; }
	pair "shared: rping" 7174 "rping -s -a $IP_B -C 5 -V" "rping -c -a $IP_B -C 5 -V -v"
	refuse "shared: an RDMA device can't be moved" in_a rdma dev set "$DEV_A" netns "$NS_B"
	check "shared: B sees A's link" visible "$NS_B" "$DEV_A"
	[ "$IWT_LINK_TYPE" != iw_tcp ] || others_links
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

# others_links: in A and B, net devices have the same name; only that of A has a link. iw_tcp-link in
# B must not remove this link. In A it must remove the link even if the net device was renamed.
others_links() {
	local link=iwt_$IF_C
	if ! command -v iw_tcp-link >/dev/null; then
		missing "shared: iw_tcp-link" iw_tcp-link
		return
	fi
	ip link add "$IF_C" netns "$NS_A" type veth peer name "$IF_C" netns "$NS_B"
	check "shared: iw_tcp-link up in A" in_a iw_tcp-link up "$IF_C"
	check "shared: iw_tcp-link down in B does nothing" in_b iw_tcp-link down "$IF_C"
	check "shared: A keeps its link" rdma_in "$NS_A" "$IF_C"
	check "shared: iw_tcp-link down in A" in_a iw_tcp-link down "$IF_C"
	check "shared: A has no such link" not visible_here "$link"
	check "renamed: iw_tcp-link up" in_a iw_tcp-link up "$IF_C"
	check "renamed: the net device gets another name" ip -n "$NS_A" link set "$IF_C" name "${IF_C}r"
	check "renamed: iw_tcp-link down removes the link" in_a iw_tcp-link down "$IF_C"
	check "renamed: no such link" not visible_here "$link"
	ip -n "$NS_A" link del "${IF_C}r"
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
	[ "$IWT_LINK_TYPE" != iw_tcp ] || { same_names; device_moves; anew || return; }
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

### links of the same name: A and B each have a link with the name DEV_A

# is VALUE COMMAND...: does COMMAND print VALUE?
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
# netdev_of NS LINK: prints the net device of the link that NS has
netdev_of() { in_net "$1" rdma link show "$2/1" | sed -n 's/.* netdev \([^ ]*\).*/\1/p'; }
# guid NS LINK: prints the node GUID of the link that NS has, as the /sys of NS shows it
guid() { in_ns "$1" cat "/sys/class/infiniband/$2/node_guid"; }
# opened NS LINK: prints the node GUID of the link that libibverbs opens in NS
opened() { in_ns "$1" ibv_devinfo -d "$2" | awk '/node_guid/ { gsub(":", "", $2); print $2 }'; }
is_own() { is "$(guid "$1" "$2" | tr -d :)" opened "$1" "$2"; }
# crc NS: prints the setting crc of the link DEV_A that NS has; NS "" is the initial namespace. (A
# command in NS sees configfs, because in_net keeps the /sys of this shell.)
crc() { in_settings "$1" cat "$SETTINGS/$DEV_A/crc"; }
set_crc() { in_settings "$1" bash -c "echo $2 >$SETTINGS/$DEV_A/crc"; }
in_settings() {
	if [ -n "$1" ]; then in_net "$1" "${@:2}"; else "${@:2}"; fi
}
make_settings() { in_settings "$1" mkdir "$SETTINGS/$DEV_A"; }

# own_names: does B get a link with the name of A's link? Reports a failure if B does not, although
# the kernel has names for each namespace.
own_names() {
	if link_add "$NS_B" "$DEV_A" "$IF_B" 2>"$TMP/why"; then
		ok "names: B has a link with the name of A's link"
		return
	fi
	cat "$TMP/why"
	if [ "$(printf '%s\n' 7.3 "$(uname -r)" | sort -V | head -n 1)" = 7.3 ]; then
		not_ok "names: B has a link with the name of A's link"
		return 1
	fi
	check "names: B's link can't have the name of A's link" grep -q 'Too many open files' "$TMP/why"
	skip "names: links of the same name in two namespaces" "RDMA devices of this kernel have the same names in all namespaces"
	return 1
}

same_names() {
	link_del "$NS_B" "$DEV_B"
	if ! own_names; then
		link_add "$NS_B" "$DEV_B" "$IF_B"
		return
	fi
	check "names: rdma shows A's link in A" is "$IF_A" netdev_of "$NS_A" "$DEV_A"
	check "names: rdma shows B's link in B" is "$IF_B" netdev_of "$NS_B" "$DEV_A"
	check "names: /sys of A and /sys of B show different links" [ "$(guid "$NS_A" "$DEV_A")" != "$(guid "$NS_B" "$DEV_A")" ]
	check "names: libibverbs opens A's link in A" is_own "$NS_A" "$DEV_A"
	check "names: libibverbs opens B's link in B" is_own "$NS_B" "$DEV_A"
	rping_a_to_b "names: rping"
	pair "names: ib_send_bw -d" 18515 "ib_send_bw -d $DEV_A -R -F -n 50" "ib_send_bw -d $DEV_A -R -F -n 50 $IP_B"
	same_names_settings
	same_names_limits
	same_names_move
	same_names_end
	check "names: B's link is removed" link_del "$NS_B" "$DEV_A"
	check "names: A's link stays" is "$IF_A" netdev_of "$NS_A" "$DEV_A"
	check "names: B has a link with another name" link_add "$NS_B" "$DEV_B" "$IF_B"
	same_names_files
}

# Both links have the same name, and so the same directory of settings. In this directory, each
# namespace sees and changes the settings of its own link.
same_names_settings() {
	want_configfs || { missing "names: settings" configfs; return; }
	REFUSAL='not unique' refuse "names: settings: the initial namespace can't make the directory" make_settings ""
	check "names: settings: A makes the directory" make_settings "$NS_A"
	check "names: settings: A changes a setting" set_crc "$NS_A" off
	check "names: settings: A reads its value" is off crc "$NS_A"
	check "names: settings: B reads its own value" is on crc "$NS_B"
	check "names: settings: B changes a setting" set_crc "$NS_B" required
	check "names: settings: A keeps its value" is off crc "$NS_A"
	REFUSAL='not unique' refuse "names: settings: the initial namespace can't read" crc ""
	REFUSAL='not unique' refuse "names: settings: the initial namespace can't change" set_crc "" on
	check "names: settings: the connection is refused, because the settings differ" no_way_with_crc
	check "names: settings: A changes the setting back" set_crc "$NS_A" on
	check "names: settings: B changes the setting back" set_crc "$NS_B" on
	rping_a_to_b "names: settings: rping"
	rmdir "$SETTINGS/$DEV_A"
}
# no_way_with_crc: does B, where crc is required, refuse a client in A, where crc is off?
no_way_with_crc() {
	local srv rc
	start in_b rping -s -P -p 7193 -a $IP_B
	srv=$PID
	wait_listen "$NS_B" 7193 && no_way "$NS_A"
	rc=$?
	stop "$srv"
	return $rc
}

# A line of rdma.max in a control group needs the index of the device, because the name of the
# device is not unique
same_names_limits() {
	local index
	cg_has rdma && cg_add rdma || { missing "names: limits" "controller rdma"; return; }
	index=$(in_net "$NS_A" rdma dev show "$DEV_A" | sed -n 's/^\([0-9]*\):.*/\1/p')
	REFUSAL='not unique' refuse "names: limits: a limit without an index" limit "$DEV_A"
	check "names: limits: a limit for A's link" limit "$DEV_A index=$index"
	refuse "names: limits: A's link can't be opened" grouped_open "$NS_A"
	check "names: limits: B's link can be opened" grouped_open "$NS_B"
	check "names: limits: the control group goes" busywait 20 cg_del
}
limit() { bash -c "echo '$1 hca_handle=0' >$CG/rdma.max"; }
# grouped_open NS: opens the link of NS by a process in the control group
grouped_open() {
	# shellcheck disable=SC2016
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CG" ip netns exec "$1" ibv_devinfo -d "$DEV_A"
}

# A device can move only to a namespace in which its name is free
same_names_move() {
	REFUSAL='exists' refuse "names: A's device can't move to B" move "$NS_A" "$NS_B"
	check "names: A's device gets another name" in_a rdma dev set "$DEV_A" name "${DEV_A}n"
	check "names: B's device keeps its name" is "$IF_B" netdev_of "$NS_B" "$DEV_A"
	check "names: A's device moves to B with its new name" in_a rdma dev set "${DEV_A}n" netns "$NS_B"
	check "names: B has both devices" eval "visible $NS_B $DEV_A && visible $NS_B ${DEV_A}n"
	REFUSAL='exists' refuse "names: no third name in B for both devices" in_b rdma dev set "${DEV_A}n" name "$DEV_A"
	check "names: A's device moves back" in_b rdma dev set "${DEV_A}n" netns "$NS_A"
	check "names: A's device gets its name again" in_a rdma dev set "${DEV_A}n" name "$DEV_A"
	rping_a_to_b "names: rping after the device moved"
}

# named_by_kernel GUID: prints the name of the device of the initial namespace that has the GUID
named_by_kernel() { grep -lsx "$1" /sys/class/infiniband/*/node_guid | cut -d/ -f5; }
came_with_another_name() { [ -n "$(named_by_kernel "$1")" ]; }

# When the namespace of a device ends, the device moves to the initial namespace. If its name is
# taken there, the kernel gives the device another name.
same_names_end() {
	local guid name
	guid=$(guid "$NS_A" "$DEV_A")
	check "names: the initial namespace: a net device" dummy_add "$IF_C" 10.78.0.1
	check "names: the initial namespace: a link of the same name" rdma link add "$DEV_A" type "$IWT_LINK_TYPE" netdev "$IF_C"
	ns_add "$NS_C"
	check "names: A's device moves to C" move "$NS_A" "$NS_C"
	ns_del "$NS_C"
	check "names: C ends, and the device comes to the initial namespace" busywait "$IWT_TIME" came_with_another_name "$guid"
	name=$(named_by_kernel "$guid")
	check "names: the device has another name there ($name)" [ "$name" != "$DEV_A" ]
	check "names: the link of the initial namespace keeps its name" is "$IF_C" eval "rdma link show $DEV_A/1 | sed -n 's/.* netdev \([^ ]*\).*/\1/p'"
	check "names: the device moves back to A" rdma dev set "$name" netns "$NS_A"
	check "names: the device gets its name again in A" in_a rdma dev set "$name" name "$DEV_A"
	check "names: the initial namespace: the link is removed" rdma link delete "$DEV_A"
	ip link del "$IF_C"
	rping_a_to_b "names: rping after the namespace of the device ended"
}

# iw_tcp-link in two namespaces, each of which has a net device of the same name
same_names_files() {
	local file=/etc/iw_tcp/$IF_C.conf link=iwt_$IF_C ns
	if ! command -v iw_tcp-link >/dev/null; then
		missing "names: iw_tcp-link" iw_tcp-link
		return
	fi
	ip link add "$IF_C" netns "$NS_A" type veth peer name "$IF_C" netns "$NS_B"
	for ns in "$NS_A" "$NS_B"; do ip -n "$ns" link set "$IF_C" up; done
	mkdir -p /etc/iw_tcp
	echo keepidle=30 >"$file"
	check "names: iw_tcp-link up in A" in_a iw_tcp-link up "$IF_C"
	check "names: iw_tcp-link up in B" in_b iw_tcp-link up "$IF_C"
	check "names: iw_tcp-link status in A" status_is "$NS_A" 30
	check "names: iw_tcp-link status in B" status_is "$NS_B" 30
	echo keepidle=40 >"$file"
	check "names: iw_tcp-link up in B with a new setting" in_b iw_tcp-link up "$IF_C"
	check "names: iw_tcp-link status in B: the new setting" status_is "$NS_B" 40
	echo keepidle=30 >"$file"
	check "names: iw_tcp-link status in A: the old setting" status_is "$NS_A" 30
	rm -f "$file"
	check "names: iw_tcp-link down in A" in_a iw_tcp-link down "$IF_C"
	check "names: A has no such link" not visible "$NS_A" "$link"
	check "names: B keeps its link" visible "$NS_B" "$link"
	check "names: iw_tcp-link down in B" in_b iw_tcp-link down "$IF_C"
	check "names: B has no such link" not visible "$NS_B" "$link"
	ip -n "$NS_A" link del "$IF_C"
}
# status_is NS SECONDS: does iw_tcp-link status show the link of iw_tcp-link once, each finding in
# one line, without a wrong setting, and with keepidle=SECONDS?
status_is() {
	in_ns "$1" iw_tcp-link status >"$TMP/status" 2>&1
	cat "$TMP/status"
	is 1 grep -c "^..  link  *iwt_$IF_C on $IF_C: " "$TMP/status" && is 1 grep -c "^ok  settings *iwt_$IF_C:.* keepidle=$2 " "$TMP/status" &&
		is 1 grep -c "^ok  provider .*iwt_$IF_C, ABI version [0-9]*$" "$TMP/status" &&
		not grep -vE '^(ok|\?\?|!!)  |^Faults: ' "$TMP/status"
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
