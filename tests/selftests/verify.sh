#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Verifies every byte of every operation, with sizes around all limits. Also tests errors and
# events. IWT_VERIFY_ARGS: more arguments of iwt_verify (for example --max-size 67108864).
# IWT_QUICK: messages of at most 70000 bytes, one round, and not by ibv_wr_post(3)
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify rdma
two_links

# begin_segments DEVICE NS: do at least 97 % of the segments that DEVICE in NS has received begin with
# an FPDU? TCP may have cut a few segments at other places. If a machine is slow, TCP has joined some
# segments in its queue; only the first FPDU of such a segment counts.
begin_segments() {
	local segs aligned joined
	segs=$(counter "$1" rx_segs) aligned=$(counter "$1" rx_aligned)
	joined=$(($(snmp "$2" TcpExt TCPRcvCoalesce) + $(snmp "$2" TcpExt TCPBacklogCoalesce)))
	echo "$aligned of $segs; TCP has joined $joined"
	[ "$segs" -gt 100 ] && [ $(((aligned + joined) * 100)) -ge $((segs * 97)) ]
}

# FPDUs of all sizes share segments, but no FPDU extends over two segments (RFC 5044 5)
if [ "$IWT_LINK_TYPE" = iw_tcp ] && has_feature COUNTERS; then
	verify_pair "short messages" $IP_B --max-size 3000 --rounds 1 --no-neg --no-events --no-wr
	check "segments to A begin with an FPDU" begin_segments "$DEV_A" "$NS_A"
	check "segments to B begin with an FPDU" begin_segments "$DEV_B" "$NS_B"
fi

siw=()
[ "$IWT_LINK_TYPE" != siw ] || siw=(--local-siw --peer-siw)
[ -z "${IWT_QUICK:-}" ] || siw+=(--max-size 70000 --rounds 1 --no-wr)
# shellcheck disable=SC2086
verify_pair "verify" $IP_B "${siw[@]}" ${IWT_VERIFY_ARGS:-} -- "${siw[@]}"

# Tests the checks of iwt_verify: with --corrupt the client changes one byte in memory, and a check
# must notice this
start in_b "$IWT_BIN/iwt_verify" -s -a $IP_B 2>/dev/null
srv=$PID
wait_listen "$NS_B" 7472
REFUSAL="differs at octet" refuse "iwt_verify notices a changed octet" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" \
	"$IWT_BIN/iwt_verify" -c $IP_B --corrupt --max-size 20000 --rounds 1 --no-neg --no-events --no-wr "${siw[@]}"
stop "$srv"
ktap_finish
