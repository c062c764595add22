#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Several programs of rdma-core, and qperf, unmodified. IWT_QUICK: only one run each of rping and
# ucmatose
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/qperf.sh
. "$IWT_LIB/qperf.sh"

# qperf_test TEST: runs a test of qperf, and checks its status
qperf_test() {
	local rc=0
	qperf_run -cm1 -t 1 -m 4096 $IP_B "$1" || rc=$?
	check "qperf $1" sh -c "cat '$TMP/qperf'; exit $rc"
}

begin rping ucmatose
two_links

pair "rping, data verified" 7174 "rping -s -a $IP_B -C 50 -V" "rping -c -a $IP_B -C 50 -V -v"
pair "ucmatose" 7471 "ucmatose -b $IP_B" "ucmatose -s $IP_B"
[ -z "${IWT_QUICK:-}" ] || ktap_finish
pair "rping, nearly 64 KB" 7174 "rping -s -a $IP_B -C 10 -V -S 65500" "rping -c -a $IP_B -C 10 -V -v -S 65500"
pair "rping, odd size" 7174 "rping -s -a $IP_B -C 10 -V -S 1461" "rping -c -a $IP_B -C 10 -V -v -S 1461"
pair "ucmatose, ten connections" 7471 "ucmatose -c 10 -C 20 -S 3000 -b $IP_B" \
	"ucmatose -c 10 -C 20 -S 3000 -s $IP_B"
pair "rdma_server and rdma_client" 7471 "rdma_server -p 7471" "rdma_client -s $IP_B -p 7471"
pair "rstream (rsockets)" 7471 "rstream -b $IP_B -p 7471 -S 4096 -C 50 -T v" \
	"rstream -s $IP_B -p 7471 -S 4096 -C 50 -T v"
if command -v qperf >/dev/null; then
	# At the end of an rdma_cm test, the child process of qperf's server destroys its queue pair
	# twice, and crashes. The gate of the laboratory excuses a crash at this place only.
	start in_b qperf
	srv=$PID
	wait_listen "$NS_B" 19765
	way || diag <<<"no netem here"
	# qperf's writes carry immediate data
	for t in rc_bw rc_lat rc_rdma_write_bw rc_rdma_write_lat rc_rdma_read_bw rc_rdma_read_lat \
		rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add; do
		case $IWT_LINK_TYPE-$t in
		siw-*write* | siw-*swap* | siw-*add*) skip "qperf $t" "siw has no operation of RFC 7306" ;;
		*) qperf_test $t ;;
		esac
	done
	stop "$srv"
	distance near
else
	missing "qperf" qperf
fi
ktap_finish
