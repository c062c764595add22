#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The MAC address of a link's net device changes while programs bind to the link's addresses (a bind
# needs no privilege). On newer kernels rdma_cm uses the net device of the link's first GID without
# a check, so this GID must have a net device at all times: binds must not fail, and the kernel must
# not crash.
# Older kernels find the link by the MAC address; there a bind may fail with ENODEV.
# IWT_QUICK: 100 changes instead of 400
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/gid.sh
. "$IWT_LIB/gid.sh"

LISTEN=$(dirname "$0")/../peer/listen.py
CHANGES=${IWT_QUICK:+100}
CHANGES=${CHANGES:-400}

begin rdma rping python3 ip
modprobe -q rdma_ucm
two_links
FIRST=$(mac_of "$IF_A")
FOLLOWS=
[ "$IWT_LINK_TYPE" != iw_tcp ] || ! gid_follows "$DEV_A" || FOLLOWS=1

change_all() {
	local i
	for ((i = 1; i <= CHANGES; i++)); do
		printf 'link set dev %s address 02:77:00:00:%02x:%02x\n' "$IF_A" $((i >> 8)) $((i & 255))
	done | ip -n "$NS_A" -batch -
}

# bound WHAT: checks the results of the processes that bind
bound() {
	local n wrong allowed=bound
	n=$(awk '$1 == "bound" { n += $2 } END { print n + 0 }' "$TMP"/bind-*)
	echo "# $CHANGES changes during $n binds"
	check "$1: processes bind" test "$n" -gt 0
	# rdma_cm of an older kernel finds the link by the MAC address, and may not find the link
	# just after a change
	[ -z "$FOLLOWS" ] || allowed="bound|ENODEV"
	wrong=$(awk -v allowed="^($allowed)$" 'NF == 2 && $1 !~ allowed' "$TMP"/bind-*)
	check "$1: no bind fails" test -z "$wrong"
	[ -z "$wrong" ] || diag <<<"$wrong"
}

# beside WHAT: changes the MAC address of A's net device CHANGES times, while two processes bind
beside() {
	local i pids=()
	rm -f "$TMP/stop" "$TMP"/bind-*
	for i in 1 2; do
		start in_a python3 "$LISTEN" bind $IP_A 0 "$TMP/stop" >"$TMP/bind-$i"
		pids+=("$PID")
	done
	for i in 1 2; do busywait "$IWT_TIME" grep -q begun "$TMP/bind-$i"; done
	check "$1: $CHANGES changes" change_all
	touch "$TMP/stop"
	for i in "${pids[@]}"; do check "$1: a process that binds ends well" ended "$i"; done
	bound "$1"
}

beside "changes"
# Repeat the test with a longer time between two steps of rdma_cm: rdma_cm has the GID, but has not
# read the net device of the GID yet
slow_down functions=rdma_get_gid_attr us=2000 one_in=4
if [ -e /sys/module/iwt_slow ]; then
	beside "changes, slowly"
	check "the module iwt_slow is unloaded" modprobe -r iwt_slow
fi
LAST=$(mac_of "$IF_A")
check "the MAC address has changed" test "$FIRST" != "$LAST"
if [ "$IWT_LINK_TYPE" != iw_tcp ]; then
	skip "the GID" "other drivers are not tested"
elif [ -n "$FOLLOWS" ]; then
	check "the GID follows the MAC address" busywait 20 gid_is "$DEV_A" "$LAST"
else
	check "the GID is still the same" gid_is "$DEV_A" "$FIRST"
fi
busywait 20 in_net "$NS_A" ping -c 1 -W 1 $IP_B
pair "A connects" 7174 "rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"
ktap_finish
