# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Connects the namespaces A and B through a third namespace, M, which is a switch or a router. Needs
# net.sh.
#
#	A: IF_A --- M_A  M  M_B --- IF_B: B

NS_M=iwt-$TAG-m M_A=m${TAG}a M_B=m${TAG}b
# addresses of B behind a router, in a separate network
FAR_B=10.78.0.2 FAR6_B=fd78::2

# in_m COMMAND...: runs COMMAND in M
in_m() { ip netns exec "$NS_M" "$@"; }

# middle_cables [MTU]: makes the namespaces A, M and B, a veth pair between A and M, and a veth pair
# between M and B. Only A gets addresses.
middle_cables() {
	local mtu=${1:-1500} ns
	for ns in "$NS_A" "$NS_M" "$NS_B"; do ns_add "$ns" && no_dad "$ns" || return; done
	ip link add "$IF_A" mtu "$mtu" netns "$NS_A" type veth peer name "$M_A" mtu "$mtu" netns "$NS_M" &&
		ip link add "$IF_B" mtu "$mtu" netns "$NS_B" type veth peer name "$M_B" mtu "$mtu" netns "$NS_M" || return
	ip -n "$NS_A" addr add $IP_A/24 dev "$IF_A"
	ip -n "$NS_A" addr add $IP6_A/64 dev "$IF_A" nodad 2>/dev/null
	for ns in "$NS_A $IF_A" "$NS_B $IF_B" "$NS_M $M_A" "$NS_M $M_B"; do
		ip -n "${ns% *}" link set "${ns#* }" up || return
	done
}

# reaches ADDRESS...: waits until A gets an answer to ping from each ADDRESS; ignores IPv6 addresses
# if the kernel has no IPv6
reaches() {
	local ip
	for ip; do
		[[ $ip != *:* ]] || [ -d /proc/sys/net/ipv6 ] || continue
		busywait 20 in_net "$NS_A" ping -c 1 -W 1 "$ip" || return
	done
}

# switched [MTU]: makes A, M and B, with M as a bridge; B gets the addresses IP_B and IP6_B
switched() {
	middle_cables "$@" || return
	ip -n "$NS_M" link add "b$M_A" mtu "${1:-1500}" type bridge forward_delay 0 || return
	ip -n "$NS_M" link set "$M_A" master "b$M_A" &&
		ip -n "$NS_M" link set "$M_B" master "b$M_A" &&
		ip -n "$NS_M" link set "b$M_A" up || return
	ip -n "$NS_B" addr add $IP_B/24 dev "$IF_B"
	ip -n "$NS_B" addr add $IP6_B/64 dev "$IF_B" nodad 2>/dev/null
	reaches $IP_B $IP6_B
}

# routed [MTU]: makes A, M and B, with M as a router; B gets the addresses FAR_B and FAR6_B
routed() {
	middle_cables "$@" || return
	in_net "$NS_M" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip -n "$NS_M" addr add 10.77.0.254/24 dev "$M_A"
	ip -n "$NS_M" addr add 10.78.0.254/24 dev "$M_B"
	ip -n "$NS_B" addr add $FAR_B/24 dev "$IF_B"
	ip -n "$NS_A" route add 10.78.0.0/24 via 10.77.0.254
	ip -n "$NS_B" route add 10.77.0.0/24 via 10.78.0.254
	if [ -d /proc/sys/net/ipv6 ]; then
		ip -n "$NS_M" addr add fd77::fe/64 dev "$M_A" nodad
		ip -n "$NS_M" addr add fd78::fe/64 dev "$M_B" nodad
		ip -n "$NS_B" addr add $FAR6_B/64 dev "$IF_B" nodad
		ip -n "$NS_A" route add fd78::/64 via fd77::fe
		ip -n "$NS_B" route add fd77::/64 via fd78::fe
	fi
	reaches $FAR_B $FAR6_B
}

# middle_gone: deletes the namespaces A, M and B, and their links
middle_gone() {
	local x
	for x in "${MADE_DEV[@]}"; do
		# shellcheck disable=SC2086
		link_del $x || return
	done
	for x in "$NS_A" "$NS_M" "$NS_B"; do ns_del "$x"; done
	MADE_DEV=() MADE_NS=()
}
