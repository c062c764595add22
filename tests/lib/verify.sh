# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs iwt_verify and iwt_bench between A (client) and B (server).

# verify_pair PREFIX ADDRESS_B [CLIENT OPTIONS] [-- SERVER OPTIONS]: runs iwt_verify, and reports
# the client's results with PREFIX before their names; ADDRESS_B is the server's address
verify_pair() {
	local prefix=$1 addr=$2 copts=() srv rc
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do copts+=("$1"); shift; done
	[ $# -gt 0 ] && shift
	wait_free "$NS_B" 7472
	start in_b "$IWT_BIN/iwt_verify" -s -a "$addr" --timeout "$IWT_TIME" "$@" 2>"$TMP/server"
	srv=$PID
	wait_listen "$NS_B" 7472 || { not_ok "$prefix: the server listens"; diag <"$TMP/server"; return 1; }
	in_a "$IWT_BIN/iwt_verify" -c "$addr" --timeout "$IWT_TIME" "${copts[@]}" \
		>"$TMP/client" 2>&1
	# shellcheck disable=SC2034
	VERIFY_STATUS=$?
	subtests "$prefix" "$TMP/client" $VERIFY_STATUS
	[ $VERIFY_STATUS = 0 ] || counters_of_both
	ended "$srv" >/dev/null || {
		rc=$?
		# if the client has failed with status 1, do not report the status 1 of the server:
		# both have the same cause
		judge_late $rc "$TMP/server"
		[ $VERIFY_STATUS = 1 ] && [ $rc = 1 ] || not_ok "$prefix: the server ends well (status $rc)"
		diag <"$TMP/server"
	}
}

# counters_of_both: prints the counters of both links after a failure, to show which end failed
# first
counters_of_both() {
	in_a rdma statistic show link "$DEV_A/1" 2>&1 | diag
	in_b rdma statistic show link "$DEV_B/1" 2>&1 | diag
}

# bench_pair OPTION...: runs iwt_bench as the server in B and as the client in A; fails unless both
# succeed
bench_pair() {
	local opts=("$@" -a "$IP_B") srv
	start in_b "$IWT_BIN/iwt_bench" -s "${opts[@]}"
	srv=$PID
	wait_listen "$NS_B" 18600
	in_a "$IWT_BIN/iwt_bench" -c "${opts[@]}" && ended "$srv"
}
