#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A hostile process, and an honest one beside it that must not notice.
# IWT_SEED repeats a run.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/drop.sh"

# the verifying ping of another process goes on all the time
others() { alive "$CLI" && alive "$SRV"; }
still_moving() { MOVING_FROM='' busywait "$IWT_TIME" moving "$NS_A" "$IF_A" 100000; }
# resources of processes that are gone go with them
res() { in_a rdma resource show "$1" link "$DEV_A" 2>/dev/null | grep -c 'comm iwt_hostile'; }
none_left() { [ "$(($(res qp) + $(res mr) + $(res cq) + $(res pd)))" = 0 ]; }

require iwt_hostile rping rdma
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "the rings are those of iw_tcp"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
check "another process's verified traffic" traffic_rping
start in_b "$IWT_BIN/iwt_hostile" -s $IP_B >"$TMP/peer" 2>&1
peer=$PID
check "the peer listens" wait_listen "$NS_B" 7474
tap hostile in_a "$IWT_BIN/iwt_hostile" -c $IP_B ${IWT_SEED:+--seed "$IWT_SEED"}
check "the peer lives" alive "$peer"
check "the other processes live" others
check "and go on" still_moving
check "nothing of the hostile processes is left" busywait "$IWT_TIME" none_left
diag <"$TMP/peer"
stop "$peer" "$CLI" "$SRV"
ktap_finish
