#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perftest over rdma_cm: a few iterations of each operation that iWARP has.
# (perftest does not check its data; verify.sh tests that data are transferred unchanged.)
# IWT_QUICK: only one test each of ib_write_bw, ib_read_bw, ib_send_bw and ib_write_lat, and the
# tests of a shared receive queue
. "$(dirname "$0")/../lib/begin.sh"

begin ib_write_bw
two_links

# perf PROGRAM OPTION...: runs a server and a client of PROGRAM; the client must print its line of
# results
perf() {
	local prog=$1 what=$*
	shift
	pair "$what" 18515 "$prog -R -F $*" "$prog -R -F $* $IP_B"
	grep -qE '^ *[0-9]+ +[0-9]+ ' "$TMP/pair-client" || not_ok "$what: the client prints results"
}

for prog in ib_write_bw ib_read_bw ib_send_bw; do
	perf $prog -n 100 -s 65536
	[ -z "${IWT_QUICK:-}" ] || continue
	perf $prog -n 100 -s 4096 -b
	perf $prog -n 50 -s 16384 -q 4
done
# A shared receive queue. (Several queue pairs are not tested: with these, perftest relies on the
# retries of InfiniBand if the receiver is not ready.)
if [ "$IWT_LINK_TYPE" != siw ] && has_feature SRQ; then
	perf ib_send_bw -n 100 -s 4096 --use-srq
	perf ib_send_lat -n 100 -s 64 --use-srq
fi
for prog in ib_write_lat ib_read_lat ib_send_lat; do
	perf $prog -n 100 -s 8
	[ -z "${IWT_QUICK:-}" ] || ktap_finish
	perf $prog -n 20 -s 9000
done
if [ "$IWT_LINK_TYPE" != siw ]; then
	perf ib_atomic_bw -n 100
	perf ib_atomic_lat -n 100 -A CMP_AND_SWAP
fi
perf ib_write_bw -n 50 -s 64 --use_old_post_send
perf ib_send_lat -n 50 -s 64 -e
# ib_send_bw is not tested with -e: on iWARP, the peer grants credits by a Write. While ib_send_bw
# waits for credits, it sleeps until one of its own requests completes, and a Write of the peer does
# not wake up ib_send_bw.
perf ib_read_bw -n 50 -s 1 -e
ktap_finish
