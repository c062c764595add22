#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The segments are longer than the longest FPDU: all data arrive, and the segments are full,
# because they contain more than one FPDU.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify iwt_bench rdma
only_iw_tcp "counters of iw_tcp"
only_with COUNTERS
MESSAGES=512

two_links 65535
verify_pair "verify" $IP_B --max-size 200000 --rounds 1 --no-neg --no-events --no-wr
before=$(counter "$DEV_A" tx_segs)
check "Writes of 64 KB" bench_pair -o write -S 65536 -n $MESSAGES -w 8
segs=$(($(counter "$DEV_A" tx_segs) - before))
echo "# $segs segments"
# A message and its headers need a little more than one segment, or a little more than two segments
# if TCP limits its segments to half of the largest window that the peer has advertised.
check "the segments of the Writes are full" [ $segs -ge $MESSAGES -a $segs -le $((MESSAGES * 9 / 4)) ]
ktap_finish
