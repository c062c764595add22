#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# With PREEMPT_RT: real time threads do not run the engines, because no other task of their
# processor would run meanwhile. The threads of timers are real time threads, and they also
# run the bottom halves that they begin.
. "$(dirname "$0")/../lib/begin.sh"

begin ib_write_bw
if [ ! -e /sys/kernel/realtime ]; then
	skip "real time threads" "this kernel has no PREEMPT_RT"
	ktap_finish
fi
two_links

# Processor time of the threads of timers, in ticks
timer_ticks() {
	local pid sum=0
	for pid in $(pgrep '^ktimers/'); do
		sum=$((sum + $(awk '{print $14 + $15}' "/proc/$pid/stat")))
	done
	echo $sum
}

if traffic; then
	before=$(timer_ticks)
	sleep 15
	took=$(($(timer_ticks) - before)) most=$(($(getconf CLK_TCK) * 15 / 4))
	alive "$CLI" && runs=yes || runs=no
	stop "$CLI" "$SRV"
	echo "# $took ticks in 15 s, $most are a quarter"
	check "traffic goes on" test $runs = yes
	check "timers do not carry it" test $took -lt $most
else
	not_ok "traffic runs"
	stop "$CLI" "$SRV"
fi
ktap_finish
