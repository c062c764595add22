#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The example programs of librdmacm, as Documentation/applications/rdmacm.rst describes them.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"

# copied: rcopy sends a file; the received file must be equal
copied() {
	head -c "$(if_quick 1 20)M" /dev/urandom >/tmp/file
	ENDLESS=1 meet_once 7427 rcopy && cmp /tmp/file /tmp/copy && verified "$(stat -c %s /tmp/file)"
}

suite_begin rping ucmatose rdma_server rstream rcopy
if ! check "two hosts" meet_begin; then suite_finish; fi
meet "rping" 7174 rping && verified $((10 * 2 * 64))
meet "rping, 64 KB" 7174 rping "s/-C 10/-C $(if_quick 3 50) -S 65500/;s/-v//" && verified $(($(if_quick 3 50) * 2 * 65500))
check "a host with mounts of its own" host client "$NS_A"
look client
meet "ucmatose" 7471 ucmatose
meet "ucmatose, ten connections" 7471 ucmatose "s/ucmatose/& -c 10 -C 20 -S 3000/"
meet "rdma_client and rdma_server" 7471 rdma
meet "rdma_xclient and rdma_xserver" 7471 rdma-x
meet "rstream" 7471 rstream
meet "riostream" 7471 riostream
check "rcopy" copied
[ -n "$QUICK" ] || meet "rping over IPv6" 7174 rping "s/192.0.2.1/2001:db8::1/"
meet_end
suite_finish
