#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Deferred posts, without a doorbell: the device sends them even if it relied on the process to
# poll its completion queue and the process stops polling; and it sends them while it waits for an
# answer.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench rdma
only_with POLLING
two_links

# Two processes that poll on one processor wait for their time slices
last=$(($(nproc) - 1)) rounds=25 answers=5000
[ "$last" -gt 0 ] || rounds=6 answers=300
[ -z "${IWT_QUICK:-}" ] || rounds=6 answers=300
fewer=

# How often the client's polling started the engine on which the device relied; prints nothing if
# the device has no such counter
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

# still PORT OPTION...: the client posts, and then does not poll for completions
still() { both "$@" -m still -n $rounds; }

# answer PORT OPERATION: each end waits for the other's message, and answers at once, less often
# on a machine on which one answer takes many milliseconds. Uses up to ten ports.
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
# If the machine often stands still, the device does not rely on the polling in every run
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
