#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The programs that come with libfabric, as Documentation/applications/libfabric.rst describes
# them.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"

suite_begin fi_info fi_pingpong
if ! check "two hosts" meet_begin; then suite_finish; fi
check "a host with mounts of its own" host client "$NS_A"
follow "fi_info shows the link" client info
look client
n=$(if_quick 10 100) fewer=$(if_quick "s/-I 100/-I 10/" "")
octets=$((2 * n * (64 + 256 + 1024 + 4096 + 65536 + 1048576)))
meet "reliable datagrams over connections" 47592 rdm "$fewer" && verified $octets
meet "connections" 47592 msg "$fewer" && verified $octets
meet_end
suite_finish
