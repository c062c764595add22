#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The rdma engine of fio, as Documentation/applications/fio.rst says. (It does not compare its data.)
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"

suite_begin fio
if ! check "two hosts" meet_begin; then suite_finish; fi
meet "Writes" 8888 write
meet "Reads" 8888 read
meet "Sends" 8888 send
[ -n "$QUICK" ] || meet "Writes of 1 MB" 8888 write "s/bs=64k/bs=1m/;s/size=16m/size=256m/"
meet_end
suite_finish
