#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Thousands of queue pairs of one process never find their peers (iwt_direct). The driver must limit
# the attempts of these queue pairs to connect, and the attempts must not delay the queue pairs of
# other links and of other processes.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_direct
only_iw_tcp "no other iWARP device connects without rdma_cm"
only_with DIRECT

CROWD=4000
IF_C=i${TAG}c IF_D=i${TAG}d DEV_C=iwt${TAG}c DEV_D=iwt${TAG}d

# a second pair of links between the same namespaces
second_links() {
	ip link add "$IF_C" netns "$NS_A" type veth peer name "$IF_D" netns "$NS_B" &&
		ip -n "$NS_A" addr add 10.79.0.1/24 dev "$IF_C" && ip -n "$NS_B" addr add 10.79.0.2/24 dev "$IF_D" &&
		ip -n "$NS_A" link set "$IF_C" up && ip -n "$NS_B" link set "$IF_D" up &&
		link_add "$NS_A" "$DEV_C" "$IF_C" && link_add "$NS_B" "$DEV_D" "$IF_D"
}
tries() { counter "$1" direct_try; }
waits() { grep -q "the queue pairs try to connect" "$1"; }

# hundred: starts 100 queue pairs, and sets TOOK to the time in microseconds until they all wait
hundred() {
	local begin=${EPOCHREALTIME/./} rc
	start "$IWT_BIN/iwt_direct" -n 100 "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 crowd >"$TMP/hundred" 2>&1
	busywait "$IWT_TIME" waits "$TMP/hundred"
	rc=$?
	TOOK=$((${EPOCHREALTIME/./} - begin))
	stop "$PID"
	return $rc
}

# ten_attempts NAME: checks that the single queue pair makes ten attempts. Sets MANY to the attempts of
# the crowd meanwhile, and MS to the time in milliseconds. (The driver limits the attempts per second.
# The single queue pair is no clock: a slow machine delays its attempts.)
ten_attempts() {
	local begin=${EPOCHREALTIME/./} many one
	many=$(tries "$DEV_A") one=$(tries "$DEV_C")
	check "$1" count_to "$IWT_TIME" $((one + 10)) tries "$DEV_C"
	MANY=$(($(tries "$DEV_A") - many))
	MS=$(((${EPOCHREALTIME/./} - begin) / 1000))
	echo "# $MANY attempts of $CROWD queue pairs in $MS ms"
}

two_links
check "100 queue pairs wait for peers that do not come" hundred
# If this takes longer, the machine can't make 1000 attempts per second, which is what the driver
# permits: the attempts of CROWD queue pairs then take the whole processor, and nothing shows whether
# the driver limits them.
if [ $TOOK -gt 1500000 ]; then
	skip "$CROWD queue pairs" "this machine is too slow for 1000 attempts per second"
	ktap_finish
fi
check "two more links" second_links
start "$IWT_BIN/iwt_direct" -n $CROWD "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 crowd >"$TMP/crowd" 2>&1
check "$CROWD queue pairs wait for peers that do not come" busywait $((IWT_TIME * 2)) waits "$TMP/crowd"
check "each of them has made its first attempts" count_to "$IWT_TIME" $((7 * CROWD)) tries "$DEV_A"
start "$IWT_BIN/iwt_direct" -n 1 "$DEV_C@$NS_A" 1 "$DEV_D@$NS_B" 1 crowd >"$TMP/one" 2>&1
check "one queue pair on another link waits" busywait "$IWT_TIME" waits "$TMP/one"
# After ten seconds a queue pair tries once per second. If each of the CROWD queue pairs did this,
# they would make CROWD attempts per second. The driver limits these attempts to 1000 per second, and
# to 1000 more per second as long as some of the queue pairs have not made their first attempts.
check "the single queue pair tries once per second" count_to "$IWT_TIME" 55 tries "$DEV_C"
ten_attempts "the single queue pair goes on"
check "the attempts of many queue pairs are limited" [ $MANY -lt $((MS * CROWD * 3 / 4 / 1000)) ]
tap "beside them" iwt_patient $((IWT_TIME * 2)) "$IWT_BIN/iwt_direct" "$DEV_C@$NS_A" 1 "$DEV_D@$NS_B" 1 basics
tap "beside them, on the same link" iwt_patient $((IWT_TIME * 2)) "$IWT_BIN/iwt_direct" "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 basics
stop "${STARTED[@]}"
check_no_objects 20 "$DEV_A" "afterwards"
# A reset must not make a queue pair begin again with short pauses, so that the pauses do not depend on
# the number of queue pairs
start in_a "$IWT_BIN/iwt_direct" -n $CROWD "$DEV_A" 1 "$DEV_B" 1 restless >"$TMP/restless" 2>&1
check "$CROWD queue pairs are reset all the time" busywait $((IWT_TIME * 2)) waits "$TMP/restless"
start "$IWT_BIN/iwt_direct" -n 1 "$DEV_C@$NS_A" 1 "$DEV_D@$NS_B" 1 crowd >"$TMP/one" 2>&1
check "one queue pair on another link waits" busywait "$IWT_TIME" waits "$TMP/one"
one=$(tries "$DEV_C")
check "the single queue pair tries once per second" count_to "$IWT_TIME" $((one + 55)) tries "$DEV_C"
ten_attempts "resets: the single queue pair goes on"
check "resets do not make more attempts possible" [ $MANY -lt $((MS * CROWD / 1000)) ]
stop "${STARTED[@]}"
check_no_objects 20 "$DEV_B" "afterwards"
tap "afterwards" iwt_patient $((IWT_TIME * 2)) "$IWT_BIN/iwt_direct" "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 basics
ktap_finish
