#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Direct connections with hostile peers (peer/direct.py): wrong startup frames, silent and slow
# peers, peers that send more messages than receives are posted. The peer is the end that opens the
# connections, or the end that waits.
#
#	direct_peer.sh [OPTION OF direct.py]...
#
# IWT_SEED: repeats a run. With IWT_QUICK there are fewer random frames, and no tests over IPv6.
. "$(dirname "$0")/../lib/begin.sh"

# shellcheck source=tests/lib/settings.sh
. "$IWT_LIB/settings.sh"

begin iwt_ulp python3
only_iw_tcp "no other iWARP device connects without rdma_cm"
only_with DIRECT
want_settings
two_links
settings_begin
port=64791
set_links direct_port $port
# another address of the peer. Like the peer's first address, this address is smaller than the
# address of the device, so the peer is the end that opens the connections.
OTHER=10.66.0.9 OTHER6=fd66::9
in_a ip addr add $OTHER/32 dev "$IF_A"
in_a ip -6 addr add $OTHER6/128 nodad dev "$IF_A"
in_b ip route add $OTHER dev "$IF_B"
in_b ip -6 route add $OTHER6 dev "$IF_B"

if [ -n "${IWT_QUICK:-}" ]; then set -- --rounds 60 --turns 12 "$@"; fi

# peer WHAT NS HERE THERE DEVICE DEVICE-NS [OPTION...]: runs direct.py in the namespace NS. HERE is
# the address of the peer, THERE is the address of DEVICE. The consumer of DEVICE runs in DEVICE-NS.
peer() {
	tap "$1" ip netns exec "$2" iwt_patient $((IWT_TIME * 4)) python3 "$(dirname "$0")/../peer/direct.py" \
		--here "$3" --there "$4" --port $port --device "$5" --ulp "ip netns exec $6 $IWT_BIN/iwt_ulp" \
		${IWT_SEED:+--seed "$IWT_SEED"} "${@:7}"
}
peer "the device is the responder" "$NS_A" $IP_A $IP_B "$DEV_B" "$NS_B" --other $OTHER "$@"
peer "the device is the initiator" "$NS_B" $IP_B $IP_A "$DEV_A" "$NS_A" "$@"
if [ $# -eq 0 ]; then
	some=(--rounds 200 --case right --case every_bit --case random_frames --case another_address --case while_reset)
	peer "IPv6, the device is the responder" "$NS_A" $IP6_A $IP6_B "$DEV_B" "$NS_B" --other $OTHER6 "${some[@]}"
	some=(--case ini_right --case ini_replies --case ini_reset)
	peer "IPv6, the device is the initiator" "$NS_B" $IP6_B $IP6_A "$DEV_A" "$NS_A" "${some[@]}"
fi
check "nothing is left of the connections" busywait 60 no_resources "$NS_B" "$DEV_B"
settings_end
ktap_finish
