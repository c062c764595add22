#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module keeps memory in which it has framed FPDUs. The module frees this memory when the kernel
# needs memory; the kernel's trace of shrinkers shows how many pages. Programs that send at the same
# time must not be disturbed (IWT_QUICK: not tested).
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench iwt_verify rdma
trace_events vmscan/mm_shrink_slab_end
two_links
echo 'retval > 0' >$TRACE/events/vmscan/mm_shrink_slab_end/filter
echo 1 >$TRACE/events/vmscan/mm_shrink_slab_end/enable

# given: prints how many pages the module has freed since the trace began. The last number of each
# line of the trace is a number of pages.
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
# Memory that TCP or a receiver still uses is freed later
shrink_some() { shrink; gave; }
check "the module frees memory" busywait 20 shrink_some
echo "# $(given) pages"
shrink_none() { afresh; shrink; gave_none; }
check "after that, the module has nothing to free" busywait 20 shrink_none
check "traffic again" traffic

[ -z "${IWT_QUICK:-}" ] || ktap_finish
afresh
start shrink_on
shrinker=$PID
verify_pair "verify, while the kernel asks for memory" $IP_B --max-size 70000 --rounds 1 --no-wr -- --max-size 70000 --rounds 1 --no-wr
stop "$shrinker"
check "the module has freed memory meanwhile" gave
ktap_finish
