#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# With PREEMPT_RT, real time threads of the kernel must not do most of the work of the engines:
# together they must use less than two thirds of the time of one processor. While such a thread
# works, no other task can run on its processor. The threads of timers and of RCU are real time
# threads, and also run the bottom halves that they raise.
. "$(dirname "$0")/../lib/begin.sh"

begin ib_write_bw
if ! is_realtime; then
	skip "real time threads" "this kernel has no PREEMPT_RT"
	ktap_finish
fi
two_links

# ticks: prints the processor time of the threads of timers and of RCU, in ticks
ticks() {
	local pid sum=0
	for pid in $(pgrep '^(ktimers|rcuc)/'); do
		sum=$((sum + $(awk '{print $14 + $15}' "/proc/$pid/stat")))
	done
	echo $sum
}

if traffic; then
	before=$(ticks)
	sleep 15
	took=$(($(ticks) - before)) most=$(($(getconf CLK_TCK) * 15 * 2 / 3))
	alive "$CLI" && runs=yes || runs=no
	stop "$CLI" "$SRV"
	echo "# $took ticks in 15 s, $most are two thirds of one processor"
	check "traffic goes on" test $runs = yes
	check "real time threads do not do most of the work" test $took -lt $most
else
	not_ok "traffic runs"
	stop "$CLI" "$SRV"
fi
ktap_finish
