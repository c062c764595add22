#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module frees memory that it keeps for framing when the kernel asks for it (the kernel's
# trace of shrinkers shows this), and this does not disturb programs that send at the same time
# (IWT_QUICK: without this second part).
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench iwt_verify rdma
only_with PAGING
trace_events vmscan/mm_shrink_slab_end
two_links
echo 'retval > 0' >$TRACE/events/vmscan/mm_shrink_slab_end/filter
echo 1 >$TRACE/events/vmscan/mm_shrink_slab_end/enable

# Pages that the module has freed since the trace began: the last number of each line
given() { awk '/\[iw_tcp\]/ { n += $NF } END { print n + 0 }' $TRACE/trace; }
shrink() { echo 2 >/proc/sys/vm/drop_caches; }
afresh() { echo >$TRACE/trace; }
gave() { [ "$(given)" -gt 0 ]; }
gave_none() { [ "$(given)" -eq 0 ]; }
shrink_on() { while sleep 0.1; do shrink; done; }

traffic() { bench_pair -o write -S 65536 -q 4 -t 300; }

shrink
check "traffic" traffic
afresh
# Memory that TCP or a reader still uses is not freed before they release it
shrink_some() { shrink; gave; }
check "what was kept for frames goes back" busywait 20 shrink_some
echo "# $(given) pages"
shrink_none() { afresh; shrink; gave_none; }
check "then nothing is kept" busywait 20 shrink_none
check "traffic again" traffic

[ -z "${IWT_QUICK:-}" ] || ktap_finish
afresh
start shrink_on
shrinker=$PID
verify_pair "verify, while memory is taken" $IP_B --max-size 70000 --rounds 1 --no-wr -- --max-size 70000 --rounds 1 --no-wr
stop "$shrinker"
check "some was" gave
ktap_finish
