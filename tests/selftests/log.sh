#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the driver says in the kernel's log: one line when a link comes and one when it goes, and
# the limit of locked memory, which no loop of a user can fill the log with.
. "$(dirname "$0")/../lib/begin.sh"

TIMES=30
# said LINK PATTERN: how many lines of the log about LINK match
said() { dmesg | grep -cE "\b$1: .*$2"; }
# is VALUE COMMAND...: COMMAND prints VALUE
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
# tries TIMES: runs a program of a user that may lock no memory; it fails each time
tries() {
	for _ in $(seq "$1"); do
		in_a prlimit --memlock=0:0 setpriv --reuid 54321 --clear-groups --inh-caps=-all --bounding-set=-ipc_lock \
			rping -c -a $IP_B >"$TMP/tries" 2>&1 && return 1
	done
	grep -i 'memory' "$TMP/tries"
}
few() {
	local n
	n=$(said "$1" RLIMIT_MEMLOCK)
	[ "$n" -ge 1 ] && [ "$n" -le $((TIMES / 2)) ] || { echo "$n lines about $TIMES programs"; return 1; }
}

begin rping rdma setpriv prlimit dmesg
only_iw_tcp "messages of iw_tcp"
two_links
check "a link comes" is 1 said "$DEV_A" "iw_tcp link on $IF_A added"
check "it has not gone" is 0 said "$DEV_A" removed
refuse "no second link on one net device" in_a rdma link add "${DEV_A}x" type iw_tcp netdev "$IF_A"
check "a refused one is not mentioned" is 0 said "${DEV_A}x" link
check "nobody has exceeded a limit" is 0 said "$DEV_A" MEMLOCK
check "a user may lock no memory" tries 1
check "the log names the limit and the program" is 1 said "$DEV_A" 'rping .pid [0-9]+. may lock 0 KiB .*RLIMIT_MEMLOCK'
check "the user tries again and again" tries $TIMES
check "the log has a few lines" few "$DEV_A"
check "the link is removed" link_del "$NS_A" "$DEV_A"
check "with one line" is 1 said "$DEV_A" "iw_tcp link on $IF_A removed"
ip -n "$NS_B" link del "$IF_B"
check "the net device of a link is removed" busywait 20 is 1 said "$DEV_B" "iw_tcp link on $IF_B removed"
check "each came once" is 1 said "$DEV_B" "added"
ktap_finish
