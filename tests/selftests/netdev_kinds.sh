#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Links on tunnels (tun, WireGuard, ipip, sit), on other special net devices (team, ipvlan), and in
# VRFs. The test verifies data (except on a team), and checks that a link is deleted when its net
# device is deleted, also during traffic. Links on net devices of unsupported types are refused, on
# older kernels also links on tun and WireGuard, which have no link layer address.
# IWT_QUICK: rping verifies data, instead of iwt_verify
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/wireguard.sh
. "$IWT_LIB/wireguard.sh"
# shellcheck source=tests/lib/gid.sh
. "$IWT_LIB/gid.sh"

begin iwt_verify rping python3 rdma
only_iw_tcp "tunnels of other drivers are not tested"
TUN=(python3 "$IWT_LIB/tun.py")
N_A=n${TAG}a N_B=n${TAG}b IF2_A=j${TAG}a IF2_B=j${TAG}b
OPTS=(--brief --no-neg --no-events --rounds 1 --max-size 70000)

### functions for all kinds

# addresses NETWORK NETDEV-OF-A NETDEV-OF-B: gives both net devices addresses of 10.77.NETWORK.0 and
# fd77:NETWORK::, and sets both net devices up
addresses() {
	address "$NS_A" "$2" "$1" 1 && address "$NS_B" "$3" "$1" 2
}
address() {
	ip -n "$1" addr add "10.77.$3.$4/24" dev "$2" && ip -n "$1" addr add "fd77:$3::$4/64" dev "$2" nodad &&
		ip -n "$1" link set "$2" up
}

# answers ADDRESS...: waits until A gets an answer of ping from each ADDRESS
answers() {
	local ip
	for ip; do busywait 20 in_net "$NS_A" ping -c 1 -W 1 "$ip" || return; done
}

# prepared WHAT NETWORK NETDEV-OF-A NETDEV-OF-B ADDRESS...: gives both net devices addresses of
# NETWORK, and waits until A gets answers from each ADDRESS
prepared() {
	addresses "${@:2:3}" && answers "${@:5}" && return
	not_ok "$1: the network"
	return 1
}

guid() { cat "/sys/class/infiniband/$1/node_guid"; }
gone() { ! rdma_exists "$1"; }
no_netdev() { ! ip -n "$1" link show "$2" >/dev/null 2>&1; }

# small_data WHAT ADDRESS: like data, but always uses rping
small_data() { pair "$1, $2" 7174 "rping -s -a $2 -C 5 -V -S 30000" "rping -c -a $2 -C 5 -V -v -S 30000"; }

# data WHAT ADDRESS: transfers data between A and ADDRESS of B, and verifies the data
data() {
	if [ -n "${IWT_QUICK:-}" ]; then
		small_data "$@"
	else
		verify_pair "$1, $2" "$2" "${OPTS[@]}"
	fi
}

# links WHAT NETDEV-OF-A NETDEV-OF-B ADDRESS...: makes a link at each end, and transfers data
# between A and each ADDRESS of B. Then deletes A's link, and deletes B's link by deleting its net
# device
links() {
	local what=$1 DEV_A=${DEV_A}k DEV_B=${DEV_B}k ip was
	check "$what: a link" link_add "$NS_A" "$DEV_A" "$2" || return
	check "$what: a link at the other end" link_add "$NS_B" "$DEV_B" "$3"
	check "$what: the links differ" [ "$(guid "$DEV_A")" != "$(guid "$DEV_B")" ]
	was=$(gid "$DEV_A")
	check "$what: the GID is not zero" grep -q '[1-9a-f]' <<<"$was"
	for ip in "${@:4}"; do data "$what" "$ip"; done
	ip -n "$NS_A" link set "$2" down
	ip -n "$NS_A" link set "$2" up
	check "$what: the GID lasts" [ "$(gid "$DEV_A")" = "$was" ]
	check "$what: the link is deleted" link_del "$NS_A" "$DEV_A"
	check "$what: the other link goes with its net device" ip -n "$NS_B" link del "$3"
	check "$what: it is gone" busywait 20 gone "$DEV_B"
	ip -n "$NS_A" link del "$2" 2>/dev/null
}

# lacks WHAT COMMAND...: runs COMMAND, which prepares WHAT. If COMMAND fails, reports that WHAT is
# missing, and succeeds
lacks() {
	local what=$1
	shift
	"$@" 2>"$TMP/why" && return 1
	missing "$what" "$what: $(tail -n 1 "$TMP/why")"
}

# refused WHAT NETDEV REASON: checks that a link on NETDEV of A is refused, and that the kernel's
# log contains the REASON
refused() {
	local dev=${DEV_A}r
	REFUSAL='not supported' refuse "$1: no link" link_add "$NS_A" "$dev" "$2"
	check "$1: the log says why" eval "dmesg | grep -q 'iw_tcp $dev: no link on $2 .*: $3'"
}

# without_address WHAT NETDEV-OF-A NETDEV-OF-B ADDRESS...: like links, for net devices without a
# link layer address. If OLD is set, checks that a link on such a net device is refused.
without_address() {
	if [ -z "$OLD" ]; then
		links "$@"
		return
	fi
	refused "$1" "$2" "rdma_cm of this kernel needs a link layer address"
	ip -n "$NS_A" link del "$2"
	ip -n "$NS_B" link del "$3" 2>/dev/null
}

### kinds

tun() {
	local cable
	modprobe -q tun
	start "${TUN[@]}" cable "$NS_A" "$N_A" "$NS_B" "$N_B" >"$TMP/cable" 2>&1
	cable=$PID
	lacks tun busywait 20 grep -q ready "$TMP/cable" && return
	prepared tun 20 "$N_A" "$N_B" 10.77.20.2 fd77:20::2 || return
	without_address tun "$N_A" "$N_B" 10.77.20.2 fd77:20::2
	stop "$cable"
}

wireguard() {
	wg_has || { missing WireGuard "module wireguard"; return; }
	lacks WireGuard wg_tunnel && return
	without_address WireGuard "$WG_A" "$WG_B" $WG_IP_B $WG_IP6_B
}

# tunnels TYPE: makes a tunnel of this type through the veth pair
tunnels() {
	modprobe -q "$1"
	ip -n "$NS_A" link add "$N_A" type "$1" local "$IP_A" remote "$IP_B" &&
		ip -n "$NS_B" link add "$N_B" type "$1" local "$IP_B" remote "$IP_A"
}

ipip() {
	lacks ipip tunnels ipip && return
	prepared ipip 21 "$N_A" "$N_B" 10.77.21.2 || return
	links ipip "$N_A" "$N_B" 10.77.21.2
}

sit() {
	lacks sit tunnels sit && return
	prepared sit 22 "$N_A" "$N_B" fd77:22::2 || return
	links sit "$N_A" "$N_B" fd77:22::2
}

second_pair() { ip link add "$IF2_A" netns "$NS_A" type veth peer name "$IF2_B" netns "$NS_B"; }
no_pair() { ip -n "$NS_A" link del "$IF2_A" 2>/dev/null; }

# A team without its daemon forwards no packets. So this test only makes and removes a link.
team() {
	modprobe -q team
	lacks team ip -n "$NS_A" link add "$N_A" type team && return
	check "team: a link" link_add "$NS_A" "${DEV_A}k" "$N_A"
	check "team: goes" ip -n "$NS_A" link del "$N_A"
	check "team: the link goes with it" busywait 20 gone "${DEV_A}k"
}

make_ipvlan() {
	ip -n "$NS_A" link add link "$IF2_A" name "$N_A" type ipvlan mode l3 &&
		ip -n "$NS_B" link add link "$IF2_B" name "$N_B" type ipvlan mode l3 &&
		ip -n "$NS_A" link set "$IF2_A" up && ip -n "$NS_B" link set "$IF2_B" up && neighbours
}

mac_in() { in_net "$1" ip -br link show dev "$2" | awk '{ print $3 }'; }
# neighbours: adds the MAC addresses, because an ipvlan in L3 mode does not answer ARP requests
neighbours() {
	ip -n "$NS_A" neigh add 10.77.24.2 lladdr "$(mac_in "$NS_B" "$IF2_B")" dev "$IF2_A" &&
		ip -n "$NS_B" neigh add 10.77.24.1 lladdr "$(mac_in "$NS_A" "$IF2_A")" dev "$IF2_B"
}

ipvlan() {
	second_pair
	modprobe -q ipvlan
	lacks ipvlan make_ipvlan && { no_pair; return; }
	prepared ipvlan 24 "$N_A" "$N_B" 10.77.24.2 || { no_pair; return; }
	links "ipvlan, L3" "$N_A" "$N_B" 10.77.24.2
	no_pair
}

### VRF: IF2_B is in the VRF N_B, IF_B is not in a VRF

make_vrf() {
	ip -n "$NS_B" link add "$N_B" type vrf table 77 && ip -n "$NS_B" link set "$N_B" up &&
		ip -n "$NS_B" link set "$IF2_B" master "$N_B"
}

# other_way COMMAND...: runs COMMAND with A and B exchanged
other_way() {
	local was=$NS_A
	# shellcheck disable=SC2034
	local NS_A=$NS_B
	local NS_B=$was
	"$@"
}

# from WHAT SOURCE DESTINATION: tests a client that binds to the address SOURCE
from() { pair "$1, from $2" 7174 "rping -s -a $3 -C 5 -V" "rping -c -I $2 -a $3 -C 5 -V -v"; }

rping_to() { iwt_patient "$IWT_TIME" ip netns exec "$NS_A" rping -c -a "$1" -C 5 -V -v; }

# everywhere WILDCARD ADDRESS...: checks that clients reach a server that listens on the wildcard
# address, at each ADDRESS
everywhere() {
	local ip srv
	wait_free "$NS_B" 7174
	start in_b rping -s -P -a "$1" -V >"$TMP/serve" 2>&1
	srv=$PID
	wait_listen "$NS_B" 7174
	for ip in "${@:2}"; do check "VRF, server on $1: $ip" rping_to "$ip"; done
	stop "$srv"
}

pair_of_links() { link_add "$NS_A" "$1" "$2" && link_add "$NS_B" "$3" "$4"; }

# loopback: can a server outside of VRFs listen on a loopback address?
loopback() {
	local rc
	start in_b rping -s -a 127.0.0.1 -p 7175
	wait_listen "$NS_B" 7175
	rc=$?
	stop "$PID"
	return "$rc"
}

vrf() {
	local ip dev
	local DEV2_A=${DEV_A}v DEV2_B=${DEV_B}v DEVV_B=${DEV_B}w
	second_pair
	modprobe -q vrf
	lacks vrf make_vrf && { no_pair; return; }
	prepared vrf 25 "$IF2_A" "$IF2_B" 10.77.25.2 fd77:25::2 || return
	ip -n "$NS_B" addr add 10.77.26.2/32 dev "$N_B"
	ip -n "$NS_A" route add 10.77.26.2 via 10.77.25.2
	check "VRF: links outside" pair_of_links "$DEV_A" "$IF_A" "$DEV_B" "$IF_B"
	check "VRF: a link inside" pair_of_links "$DEV2_A" "$IF2_A" "$DEV2_B" "$IF2_B"
	check "VRF: a link on the VRF itself" link_add "$NS_B" "$DEVV_B" "$N_B"
	# (The function data is not used, because iwt_verify also has a TCP connection of its own,
	# and does not bind this connection to the VRF.)
	for ip in 10.77.25.2 fd77:25::2 10.77.26.2; do small_data "VRF" $ip; done
	other_way from "VRF, client" 10.77.25.2 10.77.25.1
	other_way from "VRF, client" fd77:25::2 fd77:25::1
	other_way from "VRF, client" 10.77.26.2 10.77.25.1
	everywhere 0.0.0.0 10.77.25.2 10.77.26.2 $IP_B
	everywhere :: 10.77.25.2 fd77:25::2 $IP_B $IP6_B
	in_b sysctl -qw net.ipv4.tcp_l3mdev_accept=1
	everywhere 0.0.0.0 10.77.25.2 $IP_B
	small_data "VRF, tcp_l3mdev_accept" 10.77.25.2
	in_b sysctl -qw net.ipv4.tcp_l3mdev_accept=0
	check "VRF: a server outside, on a loopback address" loopback
	check "VRF: the VRF goes" ip -n "$NS_B" link del "$N_B"
	check "VRF: and its link" busywait 20 gone "$DEVV_B"
	check "VRF: the link of a former member stays" rdma_exists "$DEV2_B"
	for dev in "$NS_A $DEV_A" "$NS_B $DEV_B" "$NS_A $DEV2_A" "$NS_B $DEV2_B"; do
		# shellcheck disable=SC2086
		link_del $dev
	done
	no_pair
}

### a net device, or its namespace, is deleted during traffic

# under_traffic WHAT COMMAND...: runs COMMAND, which deletes A's link, during traffic
under_traffic() {
	local what=$1 cli srv
	shift
	check "$what: traffic" traffic_rping
	cli=$CLI srv=$SRV
	check "$what: goes" "$@"
	check "$what: the link is gone" busywait 30 gone "$DEV_A"
	check "$what: the client ends" busywait "$IWT_TIME" not alive "$cli"
	stop "$srv"
	check "$what: nothing is left at the other end" busywait 20 no_qps "$DEV_B"
}

sudden() {
	local VETH_A=$IP_A VETH_B=$IP_B
	if [ -n "$OLD" ]; then
		skip "a tunnel that goes" "rdma_cm of this kernel needs a link layer address"
		return
	fi
	lacks WireGuard wg_tunnel && return
	check "a tunnel with links" wg_links || return
	under_traffic "a tunnel" ip -n "$NS_A" link del "$IF_A"
	link_del "$NS_B" "$DEV_B"
	ip -n "$NS_B" link del "$IF_B"
	DEV_A=${DEV_A%w} DEV_B=${DEV_B%w} IP_A=$VETH_A IP_B=$VETH_B
	check "a tunnel again" wg_tunnel
	check "a tunnel with links again" wg_links || return
	under_traffic "a namespace" ns_del "$NS_A"
}

refusals() {
	local kind
	modprobe -q tun
	# 32 is ARPHRD_INFINIBAND, 280 is ARPHRD_CAN
	for kind in "32 rdma_cm connects over it by InfiniBand only" "280 net devices of this type are not supported"; do
		if ! in_net "$NS_A" "${TUN[@]}" type "$N_A" "${kind%% *}" 2>"$TMP/why"; then
			missing "refused types" "tun: $(tail -n 1 "$TMP/why")"
			return
		fi
		refused "type ${kind%% *}" "$N_A" "${kind#* }"
		ip -n "$NS_A" link del "$N_A"
	done
}

two_links
# OLD: set if rdma_cm of this kernel needs a link layer address
OLD=
! gid_follows "$DEV_A" || OLD=1
link_del "$NS_A" "$DEV_A"
link_del "$NS_B" "$DEV_B"
refusals
tun
wireguard
ipip
sit
team
ipvlan
vrf
sudden
ktap_finish
