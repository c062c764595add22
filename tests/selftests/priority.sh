#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks which thread does the work for the requests that a process posts. The process does only the
# first part of the work, in its own system call. The rest is not done by a thread with a higher
# priority than the process. The kernel's trace shows which thread does the work.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench rdma
only_iw_tcp "tracepoints of iw_tcp"
only_with TRACE
trace_events workqueue/workqueue_queue_work workqueue/workqueue_execute_start workqueue/workqueue_execute_end \
	iw_tcp/iwt_tx_batch
two_links

# Few requests, because a slow machine must finish before the server stops waiting
check "traffic" traced workqueue/workqueue_queue_work -- bench_pair -o write -S 1000000 -q 4 -d 8 -t 500
grep "\[$IWT_LINK_TYPE\]" $TRACE/trace | grep -o 'workqueue=[a-z_]*' | sort | uniq -c | diag
check "the trace shows work of the driver" grep -q "\[$IWT_LINK_TYPE\]" $TRACE/trace
refuse "no work of the driver has a high priority" grep -q "\[$IWT_LINK_TYPE\].*workqueue=events_highpri" $TRACE/trace

# own_batches: prints two numbers of full batches that the driver has given to TCP. The first number
# is the most full batches in a row that one system call of a process of iwt_bench has sent. The
# second number is the number of all full batches. A bottom half (flag s) or a work item that runs
# while the process is the current task is not part of the system call.
own_batches() {
	awk '
		/: workqueue_execute_start: / { work[$1]++ }
		/: workqueue_execute_end: / { work[$1]-- }
		/: iwt_tx_batch: / && substr($9, 7) > 60000 {
			all++
			own = $1 ~ /^iwt_bench-/ && !work[$1] && $3 !~ /^..[sSH]/
			row[$7] = own ? row[$7] + 1 : 0
			if (row[$7] > most)
				most = row[$7]
		}
		END { print most + 0, all + 0 }' $TRACE/trace
}

# Large messages, each with a doorbell. TCP's buffers and windows are so large that TCP takes
# everything at once. The engine's budget is 4 batches of 64 KB, and a doorbell has 8 budgets.
in_a sysctl -qw net.ipv4.tcp_wmem="4096 67108864 67108864"
ip -n "$NS_A" route change 10.77.0.0/24 dev "$IF_A" initcwnd 20000
check "large messages" traced workqueue/workqueue_execute_start workqueue/workqueue_execute_end iw_tcp/iwt_tx_batch -- \
	bench_pair -o write -S 8000000 -n 1 -w 3
read -r own all < <(own_batches)
echo "# $own of $all batches in one call of the process"
check "large messages: many batches" [ "$all" -gt 400 ]
check "large messages: the process sends more than one budget in a call" [ "$own" -gt 4 ]
check "large messages: the process sends at most eight budgets in a call" [ "$own" -le 32 ]
ktap_finish
