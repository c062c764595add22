#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Segments that are longer than what FPDUs are framed in: all data, and the segments
# are full all the same.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify iwt_bench rdma
only_iw_tcp "counters of iw_tcp"
MESSAGES=512

two_links 65535
verify_pair "verify" $IP_B --max-size 200000 --rounds 1 --no-neg --no-events --no-wr
before=$(counter "$DEV_A" tx_segs)
check "Writes of 64 KB" bench_pair -o write -S 65536 -n $MESSAGES -w 8
segs=$(($(counter "$DEV_A" tx_segs) - before))
echo "# $segs segments"
# one for a message and what its headers take; two where TCP's are half of the first window
check "their segments are full" [ $segs -ge $MESSAGES -a $segs -le $((MESSAGES * 9 / 4)) ]
ktap_finish
