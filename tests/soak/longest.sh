#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests the longest messages: a Write, a Read and a Send of 2^32-1 bytes; and a request with more
# bytes, which must complete with a length error
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_longest
only_iw_tcp "other drivers have another limit"
two_links

# Reserve six more huge pages. The end of the test restores the old number.
HUGE=/proc/sys/vm/nr_hugepages
if [ ! -e $HUGE ]; then
	missing_all "huge pages"
	exit
fi
HAD=$(cat $HUGE)
trap 'cleanup; echo "$HAD" >$HUGE' EXIT
echo $((HAD + 6)) >$HUGE
tap "longest" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_longest" -a $IP_A
ktap_finish
