# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs the client of qperf in A. The test has started the server in B; $srv is its pid. Needs
# net.sh and pair.sh.
#
# qperf's server sends a port number to the client before it listens on that port, and a test
# cannot wait for that port. So the client's packets are delayed until the client is connected. If
# the client is rejected nevertheless, the test runs the client once more, with a longer delay.
# qperf's senders do not check whether the peer has posted receives; a message without a receive
# ends the connection. So the rate is limited: in one second a sender sends fewer of these 4 KB
# messages than there are receives.

no_children() { ! pgrep -P "$1"; }
connected_or_ended() { in_a rdma resource show qp link "$DEV_A" | grep -q ' state RTS' || ! alive "$1"; }

# way [delay MS]: limits the rate of the client's packets, and delays them
way() { in_a tc qdisc replace dev "$IF_A" root netem rate 20mbit "$@"; }

# qperf_once MS OPTION...: runs the client once, with its packets delayed by MS milliseconds
qperf_once() {
	way delay "${1}ms"
	start iwt_patient "$IWT_TIME" ip netns exec "$NS_A" qperf "${@:2}" >"$TMP/qperf" 2>&1
	busywait "$IWT_TIME" connected_or_ended "$PID"
	way
	ended "$PID" $((IWT_TIME + 10))
}

# qperf_run OPTION...: runs the client, a second time if it is rejected; its output is in
# $TMP/qperf
qperf_run() {
	local rc
	# the server's process for the previous test may still be closing its listener
	# shellcheck disable=SC2154
	busywait 20 no_children "$srv"
	qperf_once 50 "$@"
	rc=$?
	if [ $rc -ne 0 ] && grep -q 'Event rejected' "$TMP/qperf"; then
		once_more "qperf $*: the client was rejected"
		qperf_once 500 "$@"
		rc=$?
	fi
	return $rc
}
