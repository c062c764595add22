#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# qperf: the tests of Documentation/applications/qperf.rst. Two of the tests compare the results
# of atomic operations. The other tests compare nothing; the library regions.so saves the memory of
# both ends, and after the tests of bandwidth in one direction the suite compares the last message.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"
# shellcheck source=tests/lib/qperf.sh
. "$here/../lib/qperf.sh"
TELLING=1

# run COMMAND: runs a command of the page
run() {
	local words
	read -ra words <<<"$1"
	rm -f "$TMP"/regions-*
	telling client qperf_run "${words[@]:1}" && cat "$TMP/qperf" && came "${words[-1]}"
}

# needs_cm: does a test fail without -cm1, as the page says?
needs_cm() {
	local rc=0
	in_a iwt_patient "$IWT_TIME" qperf -t 1 192.0.2.1 rc_rdma_write_bw >"$TMP/qperf" 2>&1 || rc=$?
	cat "$TMP/qperf"
	[ $rc != 0 ] && grep -q "failed to modify QP to RTR" "$TMP/qperf"
}

# came TEST: is the last message in the memory of the receiver? This is not checked for tests of
# times, because these tests change their messages, and not for rc_bi_bw, because this test receives
# into the memory that it sends.
came() {
	busywait 20 no_children "$srv"
	case $1 in
	rc_rdma_write_bw | rc_bw) regions_came server 4096 1 ;;
	rc_rdma_read_bw) regions_came client 4096 1 ;;
	esac
}

suite_begin qperf
if ! check "two hosts" meet_begin; then suite_finish; fi
telling server serve server in_b
srv=$PID
check "the server listens" wait_listen "$NS_B" 19765
way || diag <<<"no netem here"
mapfile -t lines < <(recipe tests | head -n "$(if_quick 2 99)")
for line in "${lines[@]}"; do
	check "$line" run "$line"
done
ran tests
distance near
if [ "$IWT_LINK_TYPE" = iw_tcp ]; then check "without -cm1: an error" needs_cm; fi
stop "$srv"
meet_end
suite_finish
