#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests the requirements of the RFCs (the rows of tests/peer/rows.tsv) with a peer in A that
# implements the protocols in Python: see tests/peer/README, also for rows that have no test.
#
#	conformance.sh [--ip 4|6] [--mtu MTU] [--path direct|proxy|loopback|PROFILE]
#		[--peer-of TYPE] [OPTION OF conform.py]...
#
# --ip: version of IP (4); --mtu: MTU of the veth pair (1500); --path: path between the peer and the
# device (direct). PROFILE is loss, reorder or duplicate (netem, in both directions). --peer-of:
# type of the link to test, instead of IWT_LINK_TYPE.
. "$(dirname "$0")/../lib/begin.sh"

peer=$(dirname "$0")/../peer
ip=4 mtu=1500 path=direct options=()
while [ $# -gt 0 ]; do
	case $1 in
	--ip) ip=$2; shift 2 ;;
	--mtu) mtu=$2; shift 2 ;;
	--path) path=$2; shift 2 ;;
	--peer-of) IWT_LINK_TYPE=$2; shift 2 ;;
	*) options+=("$1"); shift ;;
	esac
done

begin iwt_ulp python3
dev=$IF_B
[ "$path" != loopback ] || dev=lo
one_link() { net_setup "$mtu" && link_add "$NS_B" "$DEV_B" "$dev"; }
one_link || { not_ok "a link"; ktap_finish; }
# Without offloads, a program that captures packets sees TCP's segments
in_a ethtool -K "$IF_A" tso off gso off gro off >/dev/null 2>&1
in_b ethtool -K "$IF_B" tso off gso off gro off >/dev/null 2>&1

# no_probes NS: switches off TCP's tail loss probes. TCP sends a probe when no answer arrives within
# two round trips. A slow machine needs longer, and a probe changes the segments that follow.
no_probes() { in_net "$1" sysctl -qw net.ipv4.tcp_early_retrans=0; }

case $path in
direct | proxy | loopback) profile='' ;;
loss) profile="loss 2%" ;;
reorder) profile="delay 2ms reorder 75% 50%" ;;
duplicate) profile="duplicate 10%" ;;
*) skip_all "no path of that name" ;;
esac
if [ -z "$profile" ]; then
	no_probes "$NS_A"
	no_probes "$NS_B"
else
	# shellcheck disable=SC2086
	netem() { "$1" tc qdisc replace dev "$2" root netem $profile; }
	{ netem in_a "$IF_A" && netem in_b "$IF_B"; } || skip_all "no netem here"
	path=direct
	options+=(--lossy)
fi
case $ip in
4) here=$IP_A there=$IP_B ;;
6) here=$IP6_A there=$IP6_B ;;
esac
side=in_a interface=$IF_A
if [ "$path" = loopback ]; then
	path=direct side=in_b interface=lo here=127.0.0.1
	[ "$ip" = 4 ] || here=::1
	there=$here
fi

tap "the peer" python3 "$peer/selfcheck.py" "$peer/../unit/vectors.json"
# iwt_patient limits the time without new output: conform.py prints a line at the end of each test
tap "IPv$ip" "$side" iwt_patient $((IWT_TIME * 2)) python3 "$peer/conform.py" \
	--here "$here" --there "$there" --link "$IWT_LINK_TYPE" --device "$DEV_B" --path "$path" --interface "$interface" \
	--run "ip netns exec $NS_B" --ulp "$IWT_BIN/iwt_ulp" "${options[@]}"
check "nothing is left of the connections" busywait 30 no_resources "$NS_B" "$DEV_B"
ktap_finish
