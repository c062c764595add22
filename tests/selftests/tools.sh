#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The programs of rdma-core and qperf, unmodified.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/pair.sh"

# qperf_test TEST: its server tells the port before it listens there, so that a
# client which is faster is rejected; that is no result
qperf_test() {
	local n rc
	for n in 1 2 3 4 5 6; do
		timeout "$IWT_TIME" ip netns exec "$NS_A" qperf -cm1 -t 1 -m 4096 $IP_B "$1" >"$TMP/qperf" 2>&1
		rc=$?
		grep -q 'Event rejected' "$TMP/qperf" || break
	done
	# its writes come with immediate data, which not every provider has
	if grep -q 'rdma write with immediate' "$TMP/qperf"; then
		skip "qperf $1" "no immediate data"
	else
		check "qperf $1" sh -c "cat '$TMP/qperf'; exit $rc"
	fi
}

require rping ucmatose
require_type "$IWT_LINK_TYPE"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

pair "rping, data verified" 7174 "rping -s -a $IP_B -C 50 -V" "rping -c -a $IP_B -C 50 -V -v"
pair "rping, nearly 64 KB" 7174 "rping -s -a $IP_B -C 10 -V -S 65500" "rping -c -a $IP_B -C 10 -V -S 65500"
pair "rping, odd size" 7174 "rping -s -a $IP_B -C 10 -V -S 1461" "rping -c -a $IP_B -C 10 -V -S 1461"
pair "ucmatose" 7471 "ucmatose -b $IP_B" "ucmatose -s $IP_B"
[ -z "${IWT_QUICK:-}" ] || ktap_finish
pair "ucmatose, ten connections" 7471 "ucmatose -c 10 -C 20 -S 3000 -b $IP_B" \
	"ucmatose -c 10 -C 20 -S 3000 -s $IP_B"
pair "rdma_server and rdma_client" 7471 "rdma_server -p 7471" "rdma_client -s $IP_B -p 7471"
pair "rstream (rsockets)" 7471 "rstream -b $IP_B -p 7471 -S 4096 -C 50 -T s" \
	"rstream -s $IP_B -p 7471 -S 4096 -C 50 -T s"
if command -v qperf >/dev/null; then
	# at the end of an rdma_cm test qperf destroys its queue pair twice
	quiet_crash
	start in_b qperf
	srv=$PID
	wait_listen "$NS_B" 19765
	for t in rc_bw rc_lat rc_rdma_write_bw rc_rdma_write_lat rc_rdma_read_bw rc_rdma_read_lat; do
		qperf_test $t
	done
	stop "$srv"
	loud_crash
else
	skip "qperf" "not installed"
fi
ktap_finish
