#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# MPA startup with a peer in Python that sends right and wrong startup frames, while the device
# must also serve a well-behaved peer.
. "$(dirname "$0")/../lib/begin.sh"

begin rping iwt_conn python3
want_settings
only_iw_tcp "what other drivers answer is not tested"
peer=$(dirname "$0")/../peer/startup.py

# with_setting CASE FILE VALUE: changes the setting of both links, then tests CASE with each
with_setting() {
	local was
	was=$(setting "$DEV_A" "$2")
	set_links "$2" "$3"
	tap "$2 $3, responder" in_a iwt_patient 60 python3 "$peer" "initiator.$1" $IP_B 7174
	tap "$2 $3, initiator" in_b iwt_patient 100 python3 "$peer" "responder.$1" $IP_B 7176 \
		ip netns exec "$NS_A" iwt_patient 60 rping -c -d -a $IP_B -p 7176 -C 1
	set_links "$2" "$was"
}

two_links
settings_begin

start in_b rping -s -P -S 4096 -a $IP_B >"$TMP/listener" 2>&1
srv=$PID
wait_listen "$NS_B" 7174
start in_a python3 "$peer" initiator $IP_B 7174 >"$TMP/initiator" 2>&1
bad=$PID
start in_b iwt_patient 300 python3 "$peer" responder $IP_B 7175 \
	ip netns exec "$NS_A" iwt_patient 60 rping -c -d -a $IP_B -p 7175 -C 1 >"$TMP/responder" 2>&1
answers=$PID
n=0 failed=0 client="rping -c -a $IP_B -C 3 -V -v"
while [ $n -lt 5 ] || { alive "$bad" && [ $n -lt 200 ]; }; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	iwt_patient "$IWT_TIME" ip netns exec "$NS_A" $client >"$TMP/rping" 2>&1
	well $? "$client" "$TMP/rping" || { failed=$((failed + 1)); diag <"$TMP/rping"; }
	sleep 0.2
done
ended "$bad" 300
subtests "responder" "$TMP/initiator" $?
echo "# $n times, of which $failed failed"
check "rping beside it" [ $failed -eq 0 ]
ended "$answers" 300
subtests "initiator" "$TMP/responder" $?

tap "initiator" in_b iwt_patient 100 python3 "$peer" responder.private_data $IP_B 7176 \
	ip netns exec "$NS_A" iwt_patient 60 "$IWT_BIN/iwt_conn" -c $IP_B -p 7176
with_setting crc_required crc required
with_setting revision_1 mpa_revision 1
with_setting rdmac rdmac_permissive on
settings_end
check "the listener lives" alive "$srv"
stop "$srv"

check "nothing is left of them" busywait 30 eval '! rdma resource show qp | grep -q .'
ktap_finish
