#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the driver writes to the kernel's log: one line when a link is added, one line when the link
# is removed, and a line when a user exceeds the limit of locked memory. A user who exceeds the
# limit again and again must not fill the log.
. "$(dirname "$0")/../lib/begin.sh"

TIMES=30
# said LINK PATTERN: prints how many lines of the log about LINK match PATTERN
said() { dmesg | grep -cE "\b$1: .*$2"; }
# is VALUE COMMAND...: does COMMAND print VALUE?
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
# tries TIMES: runs a program TIMES times, as a user who may lock no memory; the program must fail
# each time
tries() {
	for _ in $(seq "$1"); do
		in_a prlimit --memlock=0:0 setpriv --reuid 54321 --clear-groups --inh-caps=-all --bounding-set=-ipc_lock \
			rping -c -a $IP_B >"$TMP/tries" 2>&1 && return 1
	done
	grep -i 'memory' "$TMP/tries"
}
# few LINK: is there a line about the limit, but at most one line for each two programs that
# exceeded the limit?
few() {
	local n
	n=$(said "$1" RLIMIT_MEMLOCK)
	[ "$n" -ge 1 ] && [ "$n" -le $((TIMES / 2)) ] || { echo "$n lines about $TIMES programs"; return 1; }
}

begin rping rdma setpriv prlimit dmesg
only_iw_tcp "messages of iw_tcp"
two_links
check "one line when a link is added" is 1 said "$DEV_A" "iw_tcp link on $IF_A added"
check "no line about its removal yet" is 0 said "$DEV_A" removed
refuse "no second link on one net device" in_a rdma link add "${DEV_A}x" type iw_tcp netdev "$IF_A"
check "no line about the refused link" is 0 said "${DEV_A}x" link
check "no line about the limit yet" is 0 said "$DEV_A" MEMLOCK
check "a user exceeds the limit" tries 1
check "the log names the limit and the program" is 1 said "$DEV_A" 'rping .pid [0-9]+. may lock 0 KiB .*RLIMIT_MEMLOCK'
check "the user exceeds the limit again and again" tries $TIMES
check "the log has only a few lines about this" few "$DEV_A"
check "the link is removed" link_del "$NS_A" "$DEV_A"
check "one line when the link is removed" is 1 said "$DEV_A" "iw_tcp link on $IF_A removed"
ip -n "$NS_B" link del "$IF_B"
check "one line when the net device of a link is removed" busywait 20 is 1 said "$DEV_B" "iw_tcp link on $IF_B removed"
check "one line had said that this link was added" is 1 said "$DEV_B" "added"
ktap_finish
