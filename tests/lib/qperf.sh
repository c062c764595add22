# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs qperf in A; its server is in B, with the pid $srv. Needs net.sh and pair.sh.
#
# qperf's server tells the client the port before it listens there, and a test cannot wait for
# that port: so packets of the client are delayed until it is connected. If the client is rejected
# nevertheless, this is no result: the test runs it once more, with a longer delay. qperf's senders
# do not check whether the peer has posted receives, without which the connection ends: the rate is
# limited so that in a second they send no more of these 4 KB messages than there are receives.

no_children() { ! pgrep -P "$1"; }
connected_or_ended() { in_a rdma resource show qp link "$DEV_A" | grep -q ' state RTS' || ! alive "$1"; }

way() { in_a tc qdisc replace dev "$IF_A" root netem rate 20mbit "$@"; }

# qperf_once MS OPTION...: with a delay of MS milliseconds
qperf_once() {
	way delay "${1}ms"
	start iwt_patient "$IWT_TIME" ip netns exec "$NS_A" qperf "${@:2}" >"$TMP/qperf" 2>&1
	busywait "$IWT_TIME" connected_or_ended "$PID"
	way
	ended "$PID" $((IWT_TIME + 10))
}

# qperf_run OPTION...: what it prints is in $TMP/qperf
qperf_run() {
	local rc
	# The process of the test before may still be closing its listener
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
