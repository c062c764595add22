#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Creates and deletes links on several kinds of netdevs, and tests refused links, the attributes of
# a link, the speed of its port, several links at once, and links whose netdev changes or is
# deleted.
# IWT_QUICK: a link is deleted and added again 4 times, not 20 times
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/gid.sh
. "$IWT_LIB/gid.sh"

begin rdma ibv_devinfo python3 iwt_speed
TYPE=$IWT_LINK_TYPE
MODULE=$TYPE
AGAIN=${IWT_QUICK:+4}
AGAIN=${AGAIN:-20}

state_is() { in_net "$NS_A" rdma link show "$1/1" | grep -q " state $2 "; }
has_address() { ! gid_is "$1" 000000000000; }
gone() { ! in_net "$NS_A" rdma link show "$1/1" >/dev/null 2>&1; }
# dev_add NAME TYPE [OPTION...]: makes a net device in A, and sets it up
dev_add() { local n=$1; shift; ip -n "$NS_A" link add "$n" type "$@" && ip -n "$NS_A" link set "$n" up; }

autoload() {
	if [ ! -d "/sys/module/$MODULE" ] || modprobe -r "$MODULE" 2>/dev/null; then
		check "a link loads the module" link_add "$NS_A" "$DEV_A" "$IF_A"
		check "the module is loaded" test -d "/sys/module/$MODULE"
	else
		skip "a link loads the module" "$MODULE is in use"
		link_add "$NS_A" "$DEV_A" "$IF_A"
	fi
}

refusals() {
	refuse "no second link with the same name" in_a rdma link add "$DEV_A" type "$TYPE" netdev lo
	refuse "no second link on the same netdev" in_a rdma link add "${DEV_A}x" type "$TYPE" netdev "$IF_A"
	check "the first link is still there" state_is "$DEV_A" ACTIVE
	refuse "no link on a netdev that does not exist" in_a rdma link add "${DEV_A}x" type "$TYPE" netdev nosuch
	modprobe -q tun
	# 280 is ARPHRD_CAN: net devices of this type have no IP
	if in_net "$NS_A" python3 "$IWT_LIB/tun.py" type "tun$TAG" 280 2>/dev/null; then
		refuse "no link on a netdev without IP" \
			in_a rdma link add "${DEV_A}x" type "$TYPE" netdev "tun$TAG"
	else
		skip "no link on a netdev without IP" "no tun here"
	fi
}

attributes() {
	check "ibv_devices lists the link" sh -c "ip netns exec $NS_A ibv_devices | grep -q $DEV_A"
	check "ibv_devinfo -v" in_a ibv_devinfo -v -d "$DEV_A"
	check "transport is iWARP" sh -c "ip netns exec $NS_A ibv_devinfo -d $DEV_A | grep -q 'transport:.*iWARP'"
	check "the port is active" state_is "$DEV_A" ACTIVE
	check "the GID holds the MAC address" gid_is "$DEV_A" "$(mac_of "$IF_A")"
	check "rdma resource show" in_a rdma resource show
}

# For each of four kinds of net devices (dummy, vlan, bridge, loopback): adds a link to a net device
# of this kind, checks the link, and deletes the link.
kinds() {
	local kind name dev=iwtk$TAG
	dev_add "dm$TAG" dummy
	ip -n "$NS_A" link add link "dm$TAG" name "vl$TAG" type vlan id 7 2>/dev/null
	ip -n "$NS_A" link set "vl$TAG" up 2>/dev/null
	dev_add "br$TAG" bridge 2>/dev/null
	for kind in dummy:dm vlan:vl bridge:br loopback:lo; do
		name=${kind#*:}$TAG
		[ "$kind" != loopback:lo ] || name=lo
		if ! ip -n "$NS_A" link show "$name" >/dev/null 2>&1; then
			skip "a link on a ${kind%:*}" "no such netdev here"
			continue
		fi
		check "a link on a ${kind%:*}" link_add "$NS_A" "$dev" "$name"
		# lo has no MAC address, but the GID must not be 0 there, either
		[ "$TYPE" != iw_tcp ] || check "the GID of a link on a ${kind%:*} is not 0" has_address "$dev"
		check "the link on a ${kind%:*} is removed" link_del "$NS_A" "$dev"
	done
}

events() {
	local mac=021122334455 was
	ip -n "$NS_B" link set "$IF_B" down
	check "without a carrier the port is down" busywait 10 state_is "$DEV_A" DOWN
	ip -n "$NS_B" link set "$IF_B" up
	check "with a carrier the port is active again" busywait 10 state_is "$DEV_A" ACTIVE
	ip -n "$NS_A" link set "$IF_A" down
	check "netdev down: the port is down" busywait 10 state_is "$DEV_A" DOWN
	ip -n "$NS_A" link set "$IF_A" name "ren$TAG" && IF_A=ren$TAG
	ip -n "$NS_A" link set "$IF_A" up
	check "netdev up: the link shows the new name of the netdev" busywait 10 rdma_in "$NS_A" "$IF_A"
	check "netdev up: the port is active again" busywait 10 state_is "$DEV_A" ACTIVE
	was=$(mac_of "$IF_A")
	ip -n "$NS_A" link set "$IF_A" address 02:11:22:33:44:55
	if gid_follows "$DEV_A"; then
		check "the GID follows the MAC address" busywait 10 gid_is "$DEV_A" $mac
	else
		check "the GID stays when the MAC address changes" gid_is "$DEV_A" "$was"
	fi
	ip -n "$NS_A" link set "$IF_A" mtu 9000
	check "the MTU follows the netdev" busywait 10 sh -c \
		"ip netns exec $NS_A ibv_devinfo -d $DEV_A | grep -q 'active_mtu:.*4096'"
	ip -n "$NS_A" link set "$IF_A" mtu 1500
	check "the MTU follows the netdev back" busywait 10 sh -c \
		"ip netns exec $NS_A ibv_devinfo -d $DEV_A | grep -q 'active_mtu:.*1024'"
}

# speed_is LINK SPEED: is SPEED, in units of 100 Mb/s, the speed of LINK's port?
speed_is() {
	local speed
	speed=$(in_a iwt_speed query "$1" 1) || return
	[ "$speed" = "$2" ] || { echo "$speed instead of $2"; return 1; }
}

# Tests the query of the port's speed, which only newer kernels have
speeds() {
	local dev=iwts$TAG rc=0 speed
	in_a iwt_speed query "$DEV_A" 1 >/dev/null || rc=$?
	if [ $rc = 4 ]; then
		skip "the speed of the netdev" "this kernel has no query of it"
		return
	fi
	check "the speed is that of the netdev" speed_is "$DEV_A" \
		$(($(in_a cat "/sys/class/net/$IF_A/speed") / 100))
	refuse "no speed of a port that is not there" in_a iwt_speed query "$DEV_A" 2
	if ! ip -n "$NS_A" tuntap add "tap$TAG" mode tap 2>/dev/null || ! link_add "$NS_A" "$dev" "tap$TAG"; then
		skip "another speed" "no tap device here"
		return
	fi
	for speed in 25000:250 10:1 0:100; do
		check "a netdev of ${speed%:*} Mb/s" in_a iwt_speed set "tap$TAG" "${speed%:*}"
		check "the speed of the port is ${speed#*:}" speed_is "$dev" "${speed#*:}"
	done
	link_del "$NS_A" "$dev"
	ip -n "$NS_A" link del "tap$TAG"
}

eight() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		dev_add "m$i$TAG" dummy || return 1
		link_add "$NS_A" "iwm$i$TAG" "m$i$TAG" || return 1
	done
}

several() {
	local i
	eight || { not_ok "eight links at once"; return; }
	ok "eight links at once"
	check "a netdev with a link is removed" ip -n "$NS_A" link del "m3$TAG"
	check "the link of the removed netdev is gone" busywait 10 gone "iwm3$TAG"
	check "the link of another netdev is still active" state_is "iwm4$TAG" ACTIVE
	for i in 1 2 4 5 6 7 8; do link_del "$NS_A" "iwm$i$TAG"; done
	check "the other links can be removed" gone "iwm8$TAG"
}

again() {
	local i
	for i in $(seq "$AGAIN"); do
		link_del "$NS_A" "$DEV_A" || return 1
		in_a rdma link add "$DEV_A" type "$TYPE" netdev "$IF_A" || return 1
	done
}

# without the module, /dev/net/tun may not exist
modprobe -q tun
two_namespaces
autoload
attributes
refusals
kinds
events
[ "$TYPE" != iw_tcp ] || speeds
several
check "a link is removed and added again, $AGAIN times" again
check "the link is removed" link_del "$NS_A" "$DEV_A"
check "the link is gone" gone "$DEV_A"
refuse "the link can't be removed again" link_del "$NS_A" "$DEV_A"
ktap_finish
