#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Threads of one process: several threads post to the same queue pairs (by ibv_post_send and by
# ibv_wr_*), and several threads poll one completion queue (by ibv_poll_cq and by ibv_start_poll).
# The test runs again on one processor, where the device relies on the polling of these threads.
# IWT_QUICK: 1000 posts of each thread instead of 5000
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_threads iwt_hostile rdma
only_iw_tcp "other providers have no ibv_wr_*"
only_with COUNTERS
two_links

posts=5000
[ -z "${IWT_QUICK:-}" ] || posts=1000
# flushes: prints how many system calls threads made for their posts while they polled
flushes() { counter "$DEV_A" cq_flush; }
threads() { in_a iwt_patient "$IWT_TIME" "$@" "$IWT_BIN/iwt_threads" $IP_B $posts; }

start in_b "$IWT_BIN/iwt_hostile" -s $IP_B >"$TMP/peer" 2>&1
peer=$PID
check "the peer listens" wait_listen "$NS_B" 7474
check "each request completes once" threads
# If no processor is idle, the device processes the posts of the threads only when the threads poll
before=$(flushes) runs=0 since=${EPOCHREALTIME/[.,]/}
while [ "$(flushes)" -eq "$before" ] && [ $runs -lt 10 ]; do
	runs=$((runs + 1))
	threads taskset -c 0 2>"$TMP/threads" || break
done
check "each request completes once while the device relies on polling" grep -q "completions" "$TMP/threads" ||
	diag <"$TMP/threads"
echo "# $(($(flushes) - before)) flushes in $runs runs"
# The device begins to rely on polling when a process has rung the doorbell every 200 us or
# more often for a while
took=$(((${EPOCHREALTIME/[.,]/} - since) / runs))
posts=$(sed -n 's/^# \([0-9]*\) of .* completions/\1/p' "$TMP/threads")
if [ "$(flushes)" -eq "$before" ] && [ $((took / (posts + 1))) -ge 100 ]; then
	skip "a thread flushed while it polled" "too slow here: $took us for $posts posts"
else
	check "a thread flushed while it polled" test "$(flushes)" -gt "$before"
fi
check "the peer still runs" alive "$peer"
stop "$peer"
ktap_finish
