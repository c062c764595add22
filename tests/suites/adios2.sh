#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages of trixie: libadios2-serial-c-dev
# The engine SST of ADIOS2 over libfabric, as Documentation/applications/adios2.rst describes it:
# adios_check.c compares all numbers that it reads.
. "$(dirname "$0")/lib.sh"
STREAM=/var/tmp/adios

transferred() {
	local writer
	daemon server bash -c "$(recipe write)" && ran write
	writer=$PID
	busywait "$IWT_TIME" test -e $STREAM/stream.sst && cook client read && ended "$writer" || {
		cat "$TMP/daemons"
		return 1
	}
	grep -q " 0 wrong$" "$TMP/cooked" && verified "$(sed -n 's/.* \([0-9]*\) octets compared.*/\1/p' "$TMP/cooked")"
}
# by_rdma: has the writer sent all data through its link?
by_rdma() { [ "$(on server cat "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/tx_bytes")" -gt "$VERIFIED" ]; }

. /etc/os-release
[ "$VERSION_CODENAME" != bookworm ] || skip_all "Debian 12's ADIOS2 does not use libfabric"
suite_begin gcc
[ -e /usr/include/adios2_c.h ] || missing_all libadios2-serial-c-dev
if ! check "the RDMA core's mode exclusive" rdma system set netns exclusive || ! check "two hosts with links" two_hosts_with_mounts; then suite_finish; fi
follow "the program is compiled" here compile
check "ten steps are written and read" transferred
[ "$IWT_LINK_TYPE" != iw_tcp ] || check "the program used RDMA" by_rdma
check "no queue pair is left" sh -c "! rdma resource show qp | grep -q ' pid '"
check "the links are deleted" hosts_end
rm -r $STREAM
suite_finish
