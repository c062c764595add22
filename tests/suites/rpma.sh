#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages: librpma-dev
# librpma, as Documentation/applications/rpma.rst describes it: rpma_check.c compares all data that
# arrives.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"

# all_right: has the client compared data, and were all data right?
all_right() {
	grep -q " octets compared, 0 wrong$" "$TMP/client" && verified "$(sed -n 's/^\([0-9]*\) octets compared.*/\1/p' "$TMP/client")"
}
no_engine() { ! fio --enghelp | grep rpma; }

[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "only iw_tcp has Writes with immediate data"
suite_begin gcc fio
[ -e /usr/include/librpma.h ] || missing_all librpma-dev
if ! check "two hosts" meet_begin; then suite_finish; fi
look here
follow "the program is compiled" here compile
meet "Writes, Reads and Sends" 7204 check && check "the data that arrived" all_right
check "the page says that fio has no engine for librpma" no_engine
rm -f /tmp/rpma_check
meet_end
suite_finish
