#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What processes have posted is not done by threads of a higher priority than theirs: the
# kernel's trace of workqueues tells which ones do it.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/verify.sh"

require iwt_bench rdma
require_type "$IWT_LINK_TYPE"
[ -w /sys/kernel/tracing/events/workqueue/workqueue_queue_work/enable ] || skip_all "no trace of workqueues here"
TRACE=/sys/kernel/tracing/instances/iwt$$
mkdir $TRACE || skip_all "no trace of our own here"
trap 'cleanup; echo 0 >$TRACE/events/enable; rmdir $TRACE' EXIT
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

echo 1 >$TRACE/events/workqueue/workqueue_queue_work/enable
check "traffic" bench_pair -o write -S 1000000 -q 4 -t 500
echo 0 >$TRACE/events/enable
grep "\[$IWT_LINK_TYPE\]" $TRACE/trace | grep -o 'workqueue=[a-z_]*' | sort | uniq -c | diag
check "work of the driver is seen" grep -q "\[$IWT_LINK_TYPE\]" $TRACE/trace
refuse "none of it has a high priority" grep -q "\[$IWT_LINK_TYPE\].*workqueue=events_highpri" $TRACE/trace
ktap_finish
