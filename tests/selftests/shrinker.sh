#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module gives memory that it keeps for frames back when the kernel wants it (the kernel's
# trace of shrinkers shows this), and programs that send meanwhile do not notice (IWT_QUICK:
# without the latter).
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench iwt_verify rdma
trace_events vmscan/mm_shrink_slab_end
two_links
echo 'retval > 0' >$TRACE/events/vmscan/mm_shrink_slab_end/filter
echo 1 >$TRACE/events/vmscan/mm_shrink_slab_end/enable

# Pages that the module has given back since the trace began: the last number of each line
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
# Memory that TCP or a reader still uses stays until they are done
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
