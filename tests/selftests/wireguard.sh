#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# RDMA through a VPN: a WireGuard tunnel between two hosts, with a link at each end. Verifies all
# operations, byte by byte, and checks that packets between the hosts show neither the startup nor
# data.
# IWT_QUICK: messages of at most 70000 bytes, one round
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/wireguard.sh
. "$IWT_LIB/wireguard.sh"
# shellcheck source=tests/lib/gid.sh
. "$IWT_LIB/gid.sh"
# shellcheck source=tests/lib/wire.sh
. "$IWT_LIB/wire.sh"

begin iwt_verify rping tcpdump python3
only_iw_tcp "tunnels of other drivers are not tested"
OUTER=$IF_A
OPTS=(--brief --no-neg --no-events)
[ -z "${IWT_QUICK:-}" ] || OPTS+=(--rounds 1 --max-size 70000)

pings() { pair "$1" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"; }

two_namespaces
wg_has || missing_all "module wireguard"
check "a tunnel" wg_tunnel || ktap_finish
# This link is only for gid_follows, which needs a link. rdma_cm of older kernels compares link
# layer addresses, but WireGuard has no such address.
check "a link outside" link_add "$NS_A" "$DEV_A" "$OUTER" || ktap_finish
if gid_follows "$DEV_A"; then
	refuse "no link on WireGuard" link_add "$NS_A" "${DEV_A}w" "$WG_A"
	skip "data through the tunnel" "rdma_cm of this kernel needs a link layer address"
	ktap_finish
fi
link_del "$NS_A" "$DEV_A"
check "a link at each end" wg_links || ktap_finish

wire_on "$IF_A" "ip or ip6"
pings "inside the tunnel"
wire_off
check "inside the tunnel: startup and data are in clear" shows_plain

wire_on "$OUTER" "ip or ip6"
pings "outside the tunnel"
wire_off
check "outside the tunnel: neither startup nor data" not shows_plain
check "outside the tunnel: packets of WireGuard" [ "$(packets "udp port $WG_PORT")" -gt 20 ]
check "outside the tunnel: no segment of TCP" [ "$(packets "tcp or ip6 proto 6")" = 0 ]

verify_pair "WireGuard" $IP_B "${OPTS[@]}"
verify_pair "WireGuard, IPv6" $IP6_B "${OPTS[@]}"
check "no queue pair is left" busywait 20 no_qps "$DEV_B"
ktap_finish
