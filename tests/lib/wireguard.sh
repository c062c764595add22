# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Makes a WireGuard tunnel between A and B, through the veth pair. Needs net.sh.

WG_A=w${TAG}a WG_B=w${TAG}b
# addresses in the tunnel
WG_IP_A=10.79.0.1 WG_IP_B=10.79.0.2 WG_IP6_A=fd79::1 WG_IP6_B=fd79::2
# private keys: any 32 bytes are a valid key, and these keys need not be secret
WG_KEY_A=$(printf '5a%.0s' {1..32}) WG_KEY_B=$(printf 'c3%.0s' {1..32})
WG_PORT=51820

# wg_has: does this kernel have WireGuard?
wg_has() { modprobe -q wireguard || [ -d /sys/module/wireguard ]; }

# wg_end NS NETDEV KEY ADDRESS...: makes the end of the tunnel in NS, with the private key KEY;
# prints the public key of this end
wg_end() {
	local ns=$1 dev=$2 key=$3 ip
	ip -n "$ns" link add "$dev" type wireguard || return
	for ip in "${@:4}"; do ip -n "$ns" addr add "$ip" dev "$dev" nodad || return; done
	ip -n "$ns" link set "$dev" up || return
	in_net "$ns" python3 "$IWT_LIB/genl.py" wg-key "$dev" "$key" $WG_PORT
}

# wg_tunnel: makes the tunnel, and waits until packets pass
wg_tunnel() {
	local a b peer=(python3 "$IWT_LIB/genl.py" wg-peer)
	a=$(wg_end "$NS_A" "$WG_A" "$WG_KEY_A" $WG_IP_A/24 $WG_IP6_A/64) &&
		b=$(wg_end "$NS_B" "$WG_B" "$WG_KEY_B" $WG_IP_B/24 $WG_IP6_B/64) || return
	in_net "$NS_A" "${peer[@]}" "$WG_A" "$b" "$IP_B" $WG_PORT $WG_IP_B/32 $WG_IP6_B/128 &&
		in_net "$NS_B" "${peer[@]}" "$WG_B" "$a" "$IP_A" $WG_PORT $WG_IP_A/32 $WG_IP6_A/128 || return
	busywait 20 in_net "$NS_A" ping -c 1 -W 1 $WG_IP_B && busywait 20 in_net "$NS_A" ping -6 -c 1 -W 1 $WG_IP6_B
}

# wg_links: makes a link on each end of the tunnel. Sets DEV_A, DEV_B, IF_A, IF_B, IP_A, IP_B, IP6_A
# and IP6_B to the names and addresses of the tunnel, so that the functions of this directory use
# the tunnel.
# shellcheck disable=SC2034
wg_links() {
	DEV_A=${DEV_A}w DEV_B=${DEV_B}w IF_A=$WG_A IF_B=$WG_B
	IP_A=$WG_IP_A IP_B=$WG_IP_B IP6_A=$WG_IP6_A IP6_B=$WG_IP6_B
	link_add "$NS_A" "$DEV_A" "$IF_A" && link_add "$NS_B" "$DEV_B" "$IF_B"
}
