#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The setting "polling" of a link. After "off" has been written, no worker polls send queues and no
# engine spins for an answer. With "on", workers poll and engines spin during the same traffic.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench iwt_polling rdma
only_iw_tcp "a setting of iw_tcp"
only_with POLLING
want_settings
! is_realtime || skip_all "with PREEMPT_RT nobody polls"
[ "$(nproc)" -gt 1 ] || skip_all "with one processor nobody polls"
last=$(($(nproc) - 1)) port=18750 checkers=
[ ! -e /sys/kernel/debug/kmemleak ] || checkers=yes

# traffic MESSAGES OPTION...: runs a server and a client, each on its own processor, until they have
# sent this number of messages. Fails if the server or the client fails. If MESSAGES is 0, both run
# in the background until the test stops SERVER and CLIENT.
traffic() {
	local n=$1 more
	shift
	more=(-p $((++port)) "$@")
	[ "$n" = 0 ] && more+=(-t 3600000) || more+=(-n "$n")
	start in_a taskset -c 0 "$IWT_BIN/iwt_bench" -s -a $IP_A "${more[@]}" >/dev/null
	SERVER=$PID
	wait_listen "$NS_A" $port || return
	start in_b taskset -c $last "$IWT_BIN/iwt_bench" -c -a $IP_A "${more[@]}" >/dev/null
	CLIENT=$PID
	[ "$n" = 0 ] || { ended "$CLIENT" && ended "$SERVER"; }
}
# answers N: traffic of N messages; each end answers the other end's message at once
# writes N: traffic of N Writes; one end posts without a pause
answers() { traffic "$1" -m lat -o send -S 8; }
writes() { traffic "$1" -m flow -o write -S 64; }

# Each of these functions prints a sum over both links. sum NAME: of the counter NAME; polled: of
# the runs of workers; spun: of the spins of engines; rang: of doorbells; went: of messages
sum() { echo $(($(counter "$DEV_A" "$1") + $(counter "$DEV_B" "$1"))); }
polled() { sum sqpoll; }
spun() { echo $(($(sum reply_spin_hit) + $(sum reply_spin_miss))); }
rang() { sum doorbell; }
went() { echo $(($(sum tx_send) + $(sum tx_write))); }
# is VALUE COMMAND..., more_than VALUE COMMAND...: does COMMAND print VALUE, or a larger number?
is() { [ "$("${@:2}")" = "$1" ] || { "${@:2}"; return 1; }; }
more_than() { [ "$("${@:2}")" -gt "$1" ] || { "${@:2}"; return 1; }; }
# goes_on N: waits until N more messages have been sent
goes_on() { local n; n=$(went) && busywait "$IWT_TIME" more_than $((n + $1)) went; }

# until_more COUNT TRAFFIC: repeats TRAFFIC (answers or writes), up to twenty times, until COUNT
# (polled or spun) has risen; sets TRIES to the number of runs. Returns 3 if COUNT did not rise.
until_more() {
	local n
	n=$("$1")
	for ((TRIES = 1; TRIES <= 20; TRIES++)); do
		"$2" 2000 || return 1
		more_than "$n" "$1" && return
	done
	return 3
}
# begins WHAT COUNT TRAFFIC: checks that traffic raises COUNT. Workers and engines only poll for a
# process that posts again within 200 microseconds, and a kernel with checkers on a busy machine
# may need longer for each post.
begins() {
	local rc=0
	until_more "$2" "$3" >"$TMP/begins" 2>&1 || rc=$?
	if [ $rc = 3 ] && [ -n "$checkers" ]; then
		skip "$1" "this kernel has checkers and is too slow"
	else
		check "$1" result $rc "$TMP/begins"
	fi
}
result() { cat "$2"; return "$1"; }
# not_more TIMES TRAFFIC: runs TRAFFIC TIMES + 1 times. Meanwhile the device must count doorbells,
# but no runs of workers and no spins.
not_more() {
	local workers spins bells i
	workers=$(polled) spins=$(spun) bells=$(rang)
	for ((i = 0; i <= $1; i++)); do "$2" 2000 || return; done
	is "$workers" polled && is "$spins" spun && more_than "$bells" rang
}
# cut COUNT TRAFFIC: switches polling off and on again in the middle of TRAFFIC. COUNT must not rise
# while polling is off.
cut() {
	local n workers spins
	n=$("$1")
	"$2" 0 && busywait "$IWT_TIME" more_than "$n" "$1" && set_links polling off || return
	# A worker that began before polling was switched off may still run
	goes_on 1000 || return
	workers=$(polled) spins=$(spun) n=$("$1")
	goes_on 5000 && is "$workers" polled && is "$spins" spun && set_links polling on || return
	busywait "$IWT_TIME" more_than "$n" "$1" && goes_on 100
}

two_links
check "directories for both links" settings_begin
begins "workers poll" polled writes
writes=$TRIES
begins "engines spin for answers" spun answers
answers=$TRIES
check "polling off" set_links polling off
check "polling off: no worker polls" not_more "$writes" writes
check "polling off: no engine spins" not_more "$answers" answers
check "polling on again" set_links polling on
check "polling off and on again during traffic" cut spun answers
stop "$CLIENT" "$SERVER"
# A kernel with checkers is so slow that a worker hardly ever finds the next post in time
if [ -n "$checkers" ]; then
	skip "a worker" "this kernel has checkers and is too slow"
else
	# nsenter keeps this shell's /sys, which has the settings ("ip netns exec" does not)
	tap "a worker" iwt_patient "$IWT_TIME" nsenter --net="/run/netns/$NS_A" taskset -c $last "$IWT_BIN/iwt_polling" $IP_A $((port + 1)) \
		"$SETTINGS/$DEV_A/polling" "/sys/class/infiniband/$DEV_A/ports/1/hw_counters"
fi
check "the directories are removed" settings_end
ktap_finish
