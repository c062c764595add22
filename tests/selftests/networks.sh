#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Verifies all operations, byte by byte, over many kinds of networks between two hosts: VLANs,
# bonds that fail over, a router that fragments, a path whose MTU shrinks, loss, delay and
# reordering, small windows, jumbo frames, disabled offloads, link-local addresses.
# IWT_QUICK: one round, with messages of at most 70000 bytes
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/middle.sh
. "$IWT_LIB/middle.sh"

begin iwt_verify tc ethtool

VL_A=v$IF_A VL_B=v$IF_B BO_A=o$IF_A BO_B=o$IF_B IF2_A=j${TAG}a IF2_B=j${TAG}b
TUN_M=t${TAG}m TUN_B=t${TAG}b
siw=()
[ "$IWT_LINK_TYPE" != siw ] || siw=(--local-siw --peer-siw)
OPTS=(--brief --no-neg --no-events "${siw[@]}")
[ -z "${IWT_QUICK:-}" ] || OPTS+=(--rounds 1 --max-size 70000)

# all WHAT ADDRESS [SERVER'S ADDRESS]: verifies all operations
all() { verify_pair "$1" "$2" "${OPTS[@]}" -- -a "${3:-$2}" "${siw[@]}"; }

# lacks WHAT COMMAND...: runs COMMAND, which prepares WHAT. If COMMAND fails, skips WHAT, with the
# error of COMMAND as the reason, and succeeds
lacks() {
	local what=$1
	shift
	"$@" 2>"$TMP/why" && return 1
	skip "$what" "$(head -n 1 "$TMP/why")"
}

# both_ends COMMAND...: runs COMMAND in A and in B; in its arguments, IF stands for the net device
both_ends() { in_a "${@/#IF/$IF_A}" && in_b "${@/#IF/$IF_B}"; }

# links [NETDEV-OF-A NETDEV-OF-B]: makes links on IF_A and IF_B, or on these net devices
links() { link_add "$NS_A" "$DEV_A" "${1:-$IF_A}" && link_add "$NS_B" "$DEV_B" "${2:-$IF_B}"; }

# fresh switched|routed [MTU]: makes a new network with a switch or a router (lib/middle.sh), and
# links on IF_A and IF_B
fresh() {
	middle_gone && "$@" && links && return
	not_ok "the network: $*"
	ktap_finish
}

# repeatedly STEP: calls "STEP N" with N = 1, 2, ... until STEP fails or the test kills the process
# of this function; after each call, adds a line to $TMP/steps
repeatedly() {
	local n=0
	while "$1" $((++n)); do
		echo "$n" >>"$TMP/steps"
		nap 0.3
	done
}
steps() { wc -l <"$TMP/steps"; }

# while_it_changes WHAT ADDRESS STEP COUNT: repeatedly calls STEP, a function that changes the
# network, and meanwhile verifies all operations, until the network has changed COUNT times. Runs
# iwt_verify at most 20 times.
while_it_changes() {
	local pid runs
	: >"$TMP/steps"
	repeatedly "$3" &
	pid=$!
	STARTED+=("$pid")
	for ((runs = 1; runs <= 20 && $(steps) < $4; runs++)); do all "$1, run $runs" "$2"; done
	check "$1: the network has changed $4 times" [ "$(steps)" -ge "$4" ]
	stop "$pid"
}

### A switch between A and B

link_local() {
	local ll
	ll=$(ip -n "$NS_B" -o -6 addr show dev "$IF_B" scope link | sed -n '1s|.* inet6 \([^/]*\)/.*|\1|p')
	[ -n "$ll" ] || { skip "link-local address" "no IPv6 here"; return; }
	all "link-local address" "$ll%$IF_A" "$ll%$IF_B"
}

vlan() {
	local side
	for side in "$NS_A $IF_A $VL_A 1" "$NS_B $IF_B $VL_B 2"; do
		# shellcheck disable=SC2086
		set -- $side
		! lacks "VLAN" ip -n "$1" link add link "$2" name "$3" type vlan id 7 || return
		ip -n "$1" addr add "10.77.7.$4/24" dev "$3"
		ip -n "$1" addr add "fd77:7::$4/64" dev "$3" nodad 2>/dev/null
		ip -n "$1" link set "$3" up
	done
	DEV_A+=v DEV_B+=v
	links "$VL_A" "$VL_B"
	reaches 10.77.7.2
	all "VLAN" 10.77.7.2
	all "VLAN, IPv6" fd77:7::2
	DEV_A=${DEV_A%v} DEV_B=${DEV_B%v}
}

# offloads on|off: switches the offloads of all net devices between A and B
offloads() {
	local side
	for side in "$NS_A $IF_A" "$NS_B $IF_B" "$NS_M $M_A" "$NS_M $M_B"; do
		in_net "${side% *}" ethtool -K "${side#* }" rx "$1" tx "$1" sg "$1" tso "$1" gso "$1" gro "$1" >/dev/null || return
	done
}

no_offloads() {
	! lacks "offloads off" offloads off || return
	all "offloads off" $IP_B
	all "offloads off, IPv6" $IP6_B
	offloads on 2>/dev/null
}

# netem WORD...: applies netem to the packets that A and B send
netem() { both_ends tc qdisc replace dev IF root netem limit 10000 "$@"; }
plain() { both_ends tc qdisc del dev IF root; }

disturbed() {
	! lacks "netem" netem loss 1% || return
	all "1 % of packets lost" $IP_B
	netem delay 20ms
	all "a delay of 20 ms" $IP6_B
	netem delay 2ms reorder 75% duplicate 2%
	all "packets out of order, some twice" $IP_B
	netem corrupt 0.5%
	all "changed octets, which TCP's checksum notices" $IP_B
	plain
}

# windows [BYTES]: limits TCP's buffers of new connections to BYTES; without an argument, restores
# the old limits
WAS=()
windows() {
	if [ ${#WAS[@]} -eq 0 ]; then
		WAS=("$(in_net "$NS_A" sysctl -n net.ipv4.tcp_rmem)" "$(in_net "$NS_A" sysctl -n net.ipv4.tcp_wmem)")
	fi
	[ $# -eq 0 ] || set -- "4096 $1 $1"
	both_ends sysctl -qw "net.ipv4.tcp_rmem=${1:-${WAS[0]}}" "net.ipv4.tcp_wmem=${1:-${WAS[1]}}"
}

small_windows() {
	windows 4096
	all "tiny windows" $IP_B
	windows 16384
	all "small windows" $IP6_B
	windows
}

# Several kinds of disturbance at once
at_once() {
	! lacks "several at once" netem delay 5ms loss 0.5% reorder 90% || return
	offloads off 2>/dev/null
	windows 16384
	all "several at once: loss, delay, order, small windows, no offloads" $IP_B
	windows
	offloads on 2>/dev/null
	plain
}

### Two cables between A and B, and a bond at each end

bonds() {
	local side
	middle_gone
	net_setup || return
	ip link add "$IF2_A" netns "$NS_A" type veth peer name "$IF2_B" netns "$NS_B"
	for side in "$NS_A $BO_A $IF_A $IF2_A 1" "$NS_B $BO_B $IF_B $IF2_B 2"; do
		# shellcheck disable=SC2086
		set -- $side
		ip -n "$1" link add "$2" type bond mode active-backup miimon 50 || return
		ip -n "$1" addr flush dev "$3"
		ip -n "$1" link set "$3" down
		ip -n "$1" link set "$3" master "$2"
		ip -n "$1" link set "$4" master "$2"
		ip -n "$1" addr add "10.77.9.$5/24" dev "$2"
		ip -n "$1" link set "$2" up
	done
	reaches 10.77.9.2
}

slave() { in_net "$NS_A" cat "/sys/class/net/$BO_A/bonding/active_slave"; }
uses() { [ "$(ip -n "$NS_A" -d link show "$BO_A" | grep -o 'active_slave [^ ]*')" = "active_slave $1" ]; }

# fail_over N: sets one net device of A's bond up, and sets the other net device, which the bond
# uses, down
fail_over() {
	local off=$IF_A on=$IF2_A
	[ $(($1 % 2)) = 1 ] || { off=$IF2_A; on=$IF_A; }
	ip -n "$NS_A" link set "$on" up
	busywait 20 carrier "$on"
	ip -n "$NS_A" link set "$off" down
	busywait 20 uses "$on"
}
carrier() { ip -n "$NS_A" -o link show "$1" | grep -q LOWER_UP; }

bond() {
	! lacks "bond" bonds || return
	links "$BO_A" "$BO_B"
	all "bond" 10.77.9.2
	while_it_changes "bond that fails over" 10.77.9.2 fail_over 6
}

### A router between A and B

# narrow MTU: sets the MTU of the cable between the router and B. B still advertises the old MSS to
# A, so A learns of the new MTU only from the router.
narrow() {
	local ip=(ip -n "$NS_B")
	ip -n "$NS_M" link set "$M_B" mtu "$1" && "${ip[@]}" link set "$IF_B" mtu "$1" &&
		"${ip[@]}" route replace 10.77.0.0/24 via 10.78.0.254 advmss 8900 || return
	[ ! -d /proc/sys/net/ipv6 ] || [ "$1" -lt 1280 ] ||
		"${ip[@]}" route replace fd77::/64 via fd78::fe advmss 8900
}

# The router fragments packets. The router may do this, because with ip_no_pmtu_disc A and B do not
# set DF.
fragments() {
	fresh routed 9000
	both_ends sysctl -qw net.ipv4.ip_no_pmtu_disc=1
	narrow 576
	all "a router that fragments" $FAR_B
	check "a router that fragments: it has made fragments" [ "$(snmp "$NS_M" Ip FragCreates)" -gt 100 ]
	check "a router that fragments: B has reassembled packets" [ "$(snmp "$NS_B" Ip ReasmOKs)" -gt 100 ]
}

# tunnel_of_router: makes an ipip tunnel between the router and B, to the network 10.79.0.0/24. With
# nopmtudisc the router may fragment the packets of the tunnel.
tunnel_of_router() {
	modprobe -q ipip
	ip -n "$NS_M" link add "$TUN_M" mtu 4000 type ipip local 10.78.0.254 remote $FAR_B nopmtudisc &&
		ip -n "$NS_B" link add "$TUN_B" mtu 4000 type ipip local $FAR_B remote 10.78.0.254 nopmtudisc &&
		ip -n "$NS_M" addr add 10.79.0.1/24 dev "$TUN_M" && ip -n "$NS_B" addr add 10.79.0.2/24 dev "$TUN_B" &&
		ip -n "$NS_M" link set "$TUN_M" up && ip -n "$NS_B" link set "$TUN_B" up &&
		ip -n "$NS_A" route add 10.79.0.0/24 via 10.77.0.254 mtu 9000 &&
		ip -n "$NS_B" route replace 10.77.0.0/24 dev "$TUN_B" advmss 8900
}

# The router fragments packets, sends each fragment through a tunnel, and fragments the packets of
# the tunnel, too. So B reassembles packets from fragments that were reassembled before.
fragments_of_fragments() {
	local what="a router and a tunnel that fragment" n
	middle_gone && routed 9000 && both_ends sysctl -qw net.ipv4.ip_no_pmtu_disc=1 && narrow 1500 ||
		{ not_ok "$what: the network"; return; }
	lacks "$what" tunnel_of_router && return
	check "$what: links" links "$IF_A" "$TUN_B"
	all "$what" 10.79.0.2
	n=$(snmp "$NS_B" Ip ReasmOKs)
	check "$what: B has reassembled packets" [ "$n" -gt 100 ]
	check "$what: B has reassembled packets from packets" [ "$(snmp "$NS_M" Ip FragCreates)" -gt $((n * 2)) ]
}

# learnt ADDRESS MTU: does A's route to ADDRESS have this MTU, which only the router reports?
learnt() { ip -n "$NS_A" route get "$1" | grep -q "mtu $2\b"; }

# The MTU of the path shrinks step by step, and existing connections must discover it
SIZES=(9000 4352 2000 1500 1400 1300 1280)
shrink() {
	[ "$1" -lt ${#SIZES[@]} ] || { nap 1; return 1; }
	narrow "${SIZES[$1]}"
	nap 0.5
}

shrinks() {
	fresh routed 9000
	all "jumbo frames" $FAR_B
	all "jumbo frames, IPv6" $FAR6_B
	narrow 1300
	all "a narrow router" $FAR_B
	all "a narrow router, IPv6" $FAR6_B
	check "a narrow router: A knows the MTU" learnt $FAR_B 1300
	check "a narrow router, IPv6: A knows the MTU" learnt $FAR6_B 1300
	fresh routed 9000
	while_it_changes "a path that shrinks" $FAR_B shrink 6
	fresh routed 9000
	while_it_changes "a path that shrinks, IPv6" $FAR6_B shrink 6
}

fresh switched
link_local
vlan
no_offloads
disturbed
small_windows
at_once
fragments
fragments_of_fragments
shrinks
bond
ktap_finish
