# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs the client of qperf in A. The test has started the server in B; $srv is its pid. Needs
# net.sh and pair.sh.
#
# qperf's server sends a port number to the client before the server listens on this port. A test
# cannot wait for the listener, because the test does not know the port. So the client's packets are
# delayed until the client is connected. If the client is rejected nevertheless, the test runs the
# client once more, with a longer delay.
# qperf's senders do not check whether the peer has posted receives, and a message without a receive
# ends the connection. So the rate of A's packets is limited. The tests send messages of 4 KB for
# one second. At this rate, the peer has posted more receives than the tests send messages.

# no_children PID: does the process have no child? qperf's server runs each test in a child.
no_children() { ! pgrep -P "$1"; }
connected_or_ended() { in_a rdma resource show qp link "$DEV_A" | grep -q ' state RTS' || ! alive "$1"; }

# way [delay TIME]: limits the rate of the client's packets; with "delay", also delays each packet
# by TIME (a word of tc, for example 50ms)
way() { in_a tc qdisc replace dev "$IF_A" root netem rate 20mbit "$@"; }

# qperf_once MS OPTION...: runs the client once; until it is connected, its packets are delayed by
# MS milliseconds
qperf_once() {
	way delay "${1}ms"
	start iwt_patient "$IWT_TIME" ip netns exec "$NS_A" qperf "${@:2}" >"$TMP/qperf" 2>&1
	busywait "$IWT_TIME" connected_or_ended "$PID"
	way
	ended "$PID" $((IWT_TIME + 10))
}

# qperf_run OPTION...: runs the client, and runs it a second time if it is rejected. Writes the
# output to $TMP/qperf.
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
