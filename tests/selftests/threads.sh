#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Threads of one process: several post to the same queue pairs, by both interfaces, and several
# poll one completion queue, by both; also while the device counts on their polling.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"

require iwt_threads iwt_hostile rdma
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "other providers have no ibv_wr_*"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

posts=5000
[ -z "${IWT_QUICK:-}" ] || posts=1000
flushes() { counter "$DEV_A" cq_flush; }
threads() { in_a timeout "$IWT_TIME" "$@" "$IWT_BIN/iwt_threads" $IP_B $posts; }

start in_b "$IWT_BIN/iwt_hostile" -s $IP_B >"$TMP/peer" 2>&1
peer=$PID
check "the peer listens" wait_listen "$NS_B" 7474
check "each request completes once" threads
# where no processor is idle nothing but their polling looks at what they post
before=$(flushes) runs=0
while [ "$(flushes)" -eq "$before" ] && [ $runs -lt 10 ]; do
	runs=$((runs + 1))
	threads taskset -c 0 2>"$TMP/threads" || break
done
check "so does each while their polling is counted on" grep -q "completions" "$TMP/threads" ||
	diag <"$TMP/threads"
echo "# $(($(flushes) - before)) flushes in $runs runs"
check "it flushed by itself" test "$(flushes)" -gt "$before"
check "the peer lives" alive "$peer"
stop "$peer"
ktap_finish
