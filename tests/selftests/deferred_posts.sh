#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Deferred posts, without a doorbell: they go out although the process stops polling its
# completion queue, and the device relied on this polling; and they go out while the device
# waits for an answer.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench rdma
two_links

# Two processes that poll on one processor wait for their time slices
last=$(($(nproc) - 1)) rounds=25 answers=5000
[ "$last" -gt 0 ] || rounds=6 answers=300
[ -z "${IWT_QUICK:-}" ] || rounds=6 answers=300
fewer=

# How often the device relied on the client's polling and the client polled; prints nothing
# if the device has no such counter
flushes() { counter "$DEV_B" cq_flush 2>/dev/null || :; }

# both PORT OPTION...: both ends poll, each on its own processor if there are two
both() {
	local port=$1 srv rc
	shift
	start in_a taskset -c 0 "$IWT_BIN/iwt_bench" -s -a $IP_A -p "$port" "$@" >/dev/null
	srv=$PID
	wait_listen "$NS_A" "$port" || return
	in_b iwt_patient "$IWT_TIME" taskset -c $last "$IWT_BIN/iwt_bench" -c -a $IP_A -p "$port" "$@" >/dev/null
	rc=$?
	wait "$srv" && [ $rc -eq 0 ]
}

# still PORT OPTION...: posts, then looks for no completions
still() { both "$@" -m still -n $rounds; }

# answer PORT OPERATION: each end waits for the other's message, and answers at once; a machine on
# which one answer takes many milliseconds gives fewer of them. Takes up to ten ports.
answer() {
	local port=$1 had=0 end=$((SECONDS + IWT_TIME / 2))
	while ((had < answers && SECONDS < end)); do
		both $((port++)) -o "$2" -m lat -S 8 -n $((answers / 10)) || return
		had=$((had + answers / 10))
	done
	((had >= answers)) || fewer+=" $had by $2"
}

hits() { counter "$DEV_A" reply_spin_hit 2>/dev/null || echo 0; }

before=$(hits)
check "answers to Sends go out" answer 18670 send
check "answers to Writes go out" answer 18680 write
check "so does one Read after the other" answer 18690 read
echo "# $(($(hits) - before)) answers were waited for${fewer:+; the machine is slow:$fewer}"

before=$(flushes)
check "small requests go out without a look" still 18700 -S 64
check "large ones as well" still 18701 -S 20000
# A machine that often stands still is too slow for the device to rely on it each time
port=18702
while [ -n "$before" ] && [ "$(flushes)" -eq "$before" ] && [ $port -lt 18712 ]; do
	still $port -S 64 || break
	port=$((port + 1))
done
if [ -n "$before" ]; then
	echo "# $(($(flushes) - before)) flushes, $((port - 18702)) more attempts"
	check "the process flushed by itself" test "$(flushes)" -gt "$before"
fi
ktap_finish
