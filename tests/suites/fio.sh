#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The rdma engine of fio, as Documentation/applications/fio.rst describes it. fio does not compare
# its data; the library regions.so saves the memory of both ends, and after each run the suite
# checks that a message of the sender is in the memory of the receiver.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"
TELLING=1

suite_begin fio
if ! check "two hosts" meet_begin; then suite_finish; fi
meet "Writes" 8888 write
check "Writes: the data that arrived" regions_came server 65536 1
meet "Reads" 8888 read
check "Reads: the data that arrived" regions_came client 65536 1
meet "Sends" 8888 send
check "Sends: the data that arrived" regions_came server 65536 1
if [ -z "$QUICK" ]; then
	meet "Writes of 1 MB" 8888 write "s/bs=64k/bs=1m/;s/size=16m/size=256m/"
	check "Writes of 1 MB: the data that arrived" regions_came server $((1 << 20)) 1
fi
meet_end
suite_finish
