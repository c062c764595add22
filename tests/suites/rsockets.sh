#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An unmodified socket program over RDMA, by librspreload, as
# Documentation/applications/rsockets.rst describes it.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"

SIZE=$(if_quick 1 30)

# sent [SED-SCRIPT]: the client sends a file to the server; sets TOOK
sent() {
	rm -f /tmp/copy
	head -c "${SIZE}M" /dev/urandom >/tmp/file
	seconds meet_once 5001 nc "${1:-}" && cmp /tmp/file /tmp/copy && verified "$(stat -c %s /tmp/file)"
}

# by_rdma: has the client's link sent as many bytes as the file has?
by_rdma() {
	local octets
	nap 0.1
	octets=$(in_a cat "/sys/class/infiniband/$DEV_A/ports/1/hw_counters/tx_bytes")
	echo "$octets octets"
	[ "$octets" -ge $((SIZE << 20)) ]
}

suite_begin nc.traditional
if ! check "two hosts" meet_begin; then suite_finish; fi
check "a file by netcat, over RDMA" sent && rdma=$TOOK
check "the file was sent by RDMA" by_rdma
check "a host with mounts of its own" host client "$NS_A"
look client
check "a file by netcat, over TCP" sent 's/LD_PRELOAD=[^ ]* //' && ratio "$TOOK" "$rdma"
meet_end
suite_finish
