#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Deferred posts: the provider posts requests without a doorbell, because the device expects the
# process to poll its completion queue. The device must send these requests even if the process
# stops polling, and while the device waits for an answer of the peer.
# IWT_QUICK: fewer requests and answers (always so on one processor)
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench rdma
only_with POLLING
two_links

# On one processor, two processes that poll run alternately, so each answer takes a time slice
last=$(($(nproc) - 1)) rounds=25 answers=5000
[ "$last" -gt 0 ] || rounds=6 answers=300
[ -z "${IWT_QUICK:-}" ] || rounds=6 answers=300
fewer=

# flushes: prints how many system calls the client made, while it polled, for its deferred posts;
# prints nothing if the device has no such counter
flushes() { counter "$DEV_B" cq_flush 2>/dev/null || :; }

# both PORT OPTION...: runs iwt_bench; both ends poll, each on its own processor if there are two
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

# still PORT OPTION...: both ends post requests, and then do not poll for completions
still() { both "$@" -m still -n $rounds; }

# answer PORT OPERATION: each end waits for the message of the other end, and answers at once (if
# OPERATION is read, the client posts a Read when the Read before has completed). On a machine on
# which an answer takes many milliseconds, there are fewer answers. Uses up to ten ports, from PORT
# on.
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
check "answers to Sends are sent" answer 18670 send
check "answers to Writes are sent" answer 18680 write
check "one Read after the other is sent" answer 18690 read
echo "# $(($(hits) - before)) answers were waited for${fewer:+; the machine is slow:$fewer}"

before=$(flushes)
check "small requests are sent although the process does not poll" still 18700 -S 64
check "large requests are sent although the process does not poll" still 18701 -S 20000
# If the machine often stands still, there are runs in which the device does not rely on the
# polling; so repeat the run
port=18702
while [ -n "$before" ] && [ "$(flushes)" -eq "$before" ] && [ $port -lt 18712 ]; do
	still $port -S 64 || break
	port=$((port + 1))
done
if [ -n "$before" ]; then
	echo "# $(($(flushes) - before)) flushes, $((port - 18702)) more attempts"
	check "the process flushed while it polled" test "$(flushes)" -gt "$before"
fi
ktap_finish
