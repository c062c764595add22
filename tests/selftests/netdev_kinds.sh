#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Links on tunnels (tun, WireGuard, ipip, sit, GRE, ip6tnl, vti), on other special net devices (PPP,
# team, ipvlan), and in VRFs. The test verifies data, and checks that a link is deleted when its net
# device is deleted, also during traffic. Links on net devices of unsupported types are refused, on
# older kernels also links on tun, PPP and WireGuard, which have no link layer address. The test of
# PPP uses a tun device of the type PPP instead of a PPP device: the driver sees no difference,
# because only the path of the packets below the net device differs.
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

# has_module WHAT MODULE: loads MODULE, for a kind of net device that not every laboratory supports.
# If the kernel does not have the module, reports a skip, and fails
has_module() {
	want_modules "$2" && return
	skip "$1" "no module $2 in this kernel"
	return 1
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

# cable WHAT NETWORK [TYPE]: a pair of tun devices, of the TYPE (ARPHRD_*)
cable() {
	local cable
	modprobe -q tun
	start "${TUN[@]}" cable "$NS_A" "$N_A" "$NS_B" "$N_B" "${@:3}" >"$TMP/cable" 2>&1
	cable=$PID
	lacks "$1" busywait 20 grep -q ready "$TMP/cable" && return
	prepared "$1" "$2" "$N_A" "$N_B" "10.77.$2.2" "fd77:$2::2" || return
	[ -z "${3:-}" ] || check "$1: the type of the net device" [ "$(in_a cat "/sys/class/net/$N_A/type")" = "$3" ]
	without_address "$1" "$N_A" "$N_B" "10.77.$2.2" "fd77:$2::2"
	stop "$cable"
}
tun() { cable tun 20; }
ppp() { cable PPP 30 512; }	# ARPHRD_PPP

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

gre() {
	has_module GRE ip_gre || return
	lacks GRE tunnels gre && return
	prepared GRE 27 "$N_A" "$N_B" 10.77.27.2 fd77:27::2 || return
	links GRE "$N_A" "$N_B" 10.77.27.2 fd77:27::2
}

# tunnels6 TYPE [OPTION...]: makes a tunnel of this type through the veth pair, by IPv6
tunnels6() {
	ip -n "$NS_A" link add "$N_A" type "$1" local "$IP6_A" remote "$IP6_B" "${@:2}" &&
		ip -n "$NS_B" link add "$N_B" type "$1" local "$IP6_B" remote "$IP6_A" "${@:2}"
}

ip6gre() {
	has_module "GRE, IPv6" ip6_gre || return
	lacks "GRE, IPv6" tunnels6 ip6gre && return
	prepared "GRE, IPv6" 28 "$N_A" "$N_B" 10.77.28.2 fd77:28::2 || return
	links "GRE, IPv6" "$N_A" "$N_B" 10.77.28.2 fd77:28::2
}

ip6tnl() {
	has_module ip6tnl ip6_tunnel || return
	lacks ip6tnl tunnels6 ip6tnl mode any && return
	prepared ip6tnl 29 "$N_A" "$N_B" 10.77.29.2 fd77:29::2 || return
	links ip6tnl "$N_A" "$N_B" 10.77.29.2 fd77:29::2
}

# esp NS SRC DST SPI DIRECTION: makes the kernel encrypt the packets that leave NS by its vti
# (DIRECTION is out), or decrypt the packets that enter NS by its vti (in)
esp() {
	ip -n "$1" xfrm state add src "$2" dst "$3" proto esp spi "$4" mode tunnel \
		aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128 &&
		ip -n "$1" xfrm policy add dir "$5" mark 77 tmpl src "$2" dst "$3" proto esp mode tunnel
}

make_vti() {
	ip -n "$NS_A" link add "$N_A" mtu 1400 type vti local "$IP_A" remote "$IP_B" key 77 &&
		ip -n "$NS_B" link add "$N_B" mtu 1400 type vti local "$IP_B" remote "$IP_A" key 77 &&
		esp "$NS_A" "$IP_A" "$IP_B" 0x2001 out && esp "$NS_A" "$IP_B" "$IP_A" 0x2002 in &&
		esp "$NS_B" "$IP_A" "$IP_B" 0x2001 in && esp "$NS_B" "$IP_B" "$IP_A" 0x2002 out
}

vti() {
	local ns
	has_module vti ip_vti || return
	lacks vti make_vti && return
	prepared vti 31 "$N_A" "$N_B" 10.77.31.2 || return
	links vti "$N_A" "$N_B" 10.77.31.2
	check "vti: the packets were encrypted" encrypted
	for ns in "$NS_A" "$NS_B"; do ip -n "$ns" xfrm policy flush && ip -n "$ns" xfrm state flush; done
}
# encrypted: has A sent and received more encrypted packets than a connection without data needs?
encrypted() { [ "$(ip -n "$NS_A" -s xfrm state | sed -n 's/.* \([0-9]*\)(packets).*/\1/p' | sort -n | head -n 1)" -gt 20 ]; }

second_pair() { ip link add "$IF2_A" netns "$NS_A" type veth peer name "$IF2_B" netns "$NS_B"; }
no_pair() { ip -n "$NS_A" link del "$IF2_A" 2>/dev/null; }

# mac_in NS NETDEV: prints the MAC address
mac_in() { in_net "$1" ip -br link show dev "$2" | awk '{ print $3 }'; }

# make_team: makes a team with one member in A and in B. As the daemon of teams does, gives the team
# the MAC address of the member
make_team() {
	local team ns member
	for team in "$NS_A $N_A $IF2_A" "$NS_B $N_B $IF2_B"; do
		read -r ns team member <<<"$team"
		ip -n "$ns" link add "$team" type team && in_net "$ns" python3 "$IWT_LIB/genl.py" team-mode "$team" activebackup &&
			ip -n "$ns" link set "$team" address "$(mac_in "$ns" "$member")" &&
			ip -n "$ns" link set "$member" down && ip -n "$ns" link set "$member" master "$team" &&
			in_net "$ns" python3 "$IWT_LIB/genl.py" team-port "$team" "$member" && ip -n "$ns" link set "$member" up || return
	done
}

team() {
	second_pair
	modprobe -q team
	lacks team make_team && { ip -n "$NS_A" link del "$N_A"; ip -n "$NS_B" link del "$N_B"; no_pair; return; }
	prepared team 23 "$N_A" "$N_B" 10.77.23.2 fd77:23::2 || { no_pair; return; }
	links team "$N_A" "$N_B" 10.77.23.2 fd77:23::2
	no_pair
}

make_ipvlan() {
	ip -n "$NS_A" link add link "$IF2_A" name "$N_A" type ipvlan mode l3 &&
		ip -n "$NS_B" link add link "$IF2_B" name "$N_B" type ipvlan mode l3 &&
		ip -n "$NS_A" link set "$IF2_A" up && ip -n "$NS_B" link set "$IF2_B" up && neighbours
}

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
	# (Not data(): iwt_verify also makes a TCP connection, and does not bind this connection to
	# the VRF.)
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
	# 32 is ARPHRD_INFINIBAND, 256 is ARPHRD_SLIP, 280 is ARPHRD_CAN
	for kind in "32 rdma_cm connects over it by InfiniBand only" "256 net devices of this type are not supported" \
		"280 net devices of this type are not supported"; do
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
ppp
wireguard
ipip
sit
gre
ip6gre
ip6tnl
vti
team
ipvlan
vrf
sudden
ktap_finish
