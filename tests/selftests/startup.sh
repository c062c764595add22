#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# MPA startup with a peer that speaks for itself, well and badly; meanwhile a
# well-behaved one is served.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"

require rping iwt_conn python3
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "what other drivers answer is not tested"
peer=$(dirname "$0")/../peer/startup.py
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

start in_b rping -s -P -a $IP_B >"$TMP/listener" 2>&1
srv=$PID
wait_listen "$NS_B" 7174
start in_a python3 "$peer" initiator $IP_B 7174 >"$TMP/initiator" 2>&1
bad=$PID
start in_b timeout 300 python3 "$peer" responder $IP_B 7175 \
	ip netns exec "$NS_A" timeout 60 rping -c -d -a $IP_B -p 7175 -C 1 >"$TMP/responder" 2>&1
answers=$PID
n=0 failed=0
while [ $n -lt 5 ] || { alive "$bad" && [ $n -lt 200 ]; }; do
	n=$((n + 1))
	timeout "$IWT_TIME" ip netns exec "$NS_A" rping -c -a $IP_B -C 3 -V >"$TMP/rping" 2>&1 ||
		{ failed=$((failed + 1)); diag <"$TMP/rping"; }
	sleep 0.2
done
ended "$bad" 300
subtests "responder" "$TMP/initiator"
echo "# $n times, of which $failed failed"
check "rping beside it" [ $failed -eq 0 ]
check "the listener lives" alive "$srv"
stop "$srv"

in_b timeout 100 python3 "$peer" old $IP_B 7176 \
	ip netns exec "$NS_A" timeout 60 "$IWT_BIN/iwt_conn" -c $IP_B -p 7176 >"$TMP/old" 2>&1
subtests "initiator" "$TMP/old"

ended "$answers" 300
subtests "initiator" "$TMP/responder"
check "nothing is left of them" busywait 30 eval '! rdma resource show qp | grep -q .'
ktap_finish
