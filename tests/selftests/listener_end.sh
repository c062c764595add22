#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Connections in all stages of their startup while their listener ends (peer/listener_end.py): the
# program destroys the listener, the program is killed, or the link is deleted. At the same time the
# program accepts and rejects Requests, and the peers send more octets, FIN or RST.
#
#	listener_end.sh [OPTION OF listener_end.py]...
#
# IWT_ROUNDS: rounds of each part in which the program goes on (8); in the other parts there are a
# third of these rounds, because each round needs a new process. IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_ulp python3 rdma
only_iw_tcp "other drivers may answer in other ways"
two_links
# Otherwise librdmacm would load this module during the test
modprobe -q rdma_ucm
tap "the listener ends" in_net "$NS_A" iwt_patient $((IWT_TIME * 4)) python3 "$(dirname "$0")/../peer/listener_end.py" \
	--here $IP_A --there $IP_B --device "$DEV_B" --netdev "$IF_B" --run "ip netns exec $NS_B" \
	--ulp "$IWT_BIN/iwt_ulp" --rounds "${IWT_ROUNDS:-8}" ${IWT_SEED:+--seed "$IWT_SEED"} "$@"
check_no_objects "$IWT_TIME" "$DEV_B"
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"
ktap_finish
