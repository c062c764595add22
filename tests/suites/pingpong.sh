#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The example programs of libibverbs over direct connections, as
# Documentation/applications/pingpong.rst describes them. With -c the programs check only one byte
# of each page. So the library regions.so saves the memory of both ends, and the suite compares the
# last message.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"
TELLING=1
LONG=65536

# exchange NAME [SED-SCRIPT [SIZE]]: runs the recipes of both ends. The client sends random bytes,
# and the server sends them back, so both ends must have the same message of SIZE bytes (4096) at
# the end.
# An end of ibv_srq_pingpong counts the messages of all its queue pairs together. So when the count
# of one end is complete, Sends of the other end may still wait for their confirmations, and fail if
# the first end destroys its queue pairs. TOGETHER prevents this.
exchange() {
	local TOGETHER=
	[ "$1" != srq ] || TOGETHER=1
	meet_once 18515 "$1" "${2:-}" || return
	if grep -H "invalid data" "$TMP/server" "$TMP/client"; then return 1; fi
	regions_came server "${3:-4096}" 1
}

# swapped COMMAND...: runs COMMAND with the client in B and the server in A
swapped() {
	local a=$NS_A b=$NS_B
	local NS_A=$b NS_B=$a
	"$@"
}
SWAP="s/192.0.2.1/$IP_A/"

# tries NS LINK: prints how often LINK has begun a connection
tries() { nap 0.03; in_ns "$1" cat "/sys/class/infiniband/$2/ports/1/hw_counters/direct_try"; }
# dialled_by_b COMMAND...: succeeds if COMMAND succeeds and the link of B, the end with the smaller
# GID, has begun all connections
dialled_by_b() {
	local a b
	a=$(tries "$NS_A" "$DEV_A") b=$(tries "$NS_B" "$DEV_B")
	"$@" || return
	echo "connections that A has begun: $a, then $(tries "$NS_A" "$DEV_A"); B: $b, then $(tries "$NS_B" "$DEV_B")"
	[ "$(tries "$NS_A" "$DEV_A")" = "$a" ] && [ "$(tries "$NS_B" "$DEV_B")" -gt "$b" ]
}

# refused WHY COMMAND: runs COMMAND at both ends. The client must fail, and the server must print WHY
refused() {
	local rc=0
	start in_b bash -c "$2" >"$TMP/server" 2>&1
	local srv=$PID
	server_came 18515 || { stop "$srv"; return 1; }
	in_a iwt_patient "$IWT_TIME" bash -c "$2 192.0.2.1" >"$TMP/client" 2>&1 || rc=$?
	stop "$srv"
	cat "$TMP/server" "$TMP/client"
	[ $rc != 0 ] && grep -q "$1" "$TMP/server"
}

[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "only iw_tcp has direct connections"
suite_begin ibv_rc_pingpong ibv_srq_pingpong
if ! check "two hosts" meet_begin; then suite_finish; fi
check "ibv_rc_pingpong" dialled_by_b exchange rc
check "ibv_rc_pingpong, the server has the larger GID" dialled_by_b swapped exchange rc "$SWAP"
check "ibv_rc_pingpong over IPv6, with events" dialled_by_b exchange rc6
check "ibv_srq_pingpong" dialled_by_b exchange srq
if [ -z "$QUICK" ]; then
	check "IPv6, the server has the larger GID" dialled_by_b swapped exchange rc6 "$SWAP"
	check "link-local addresses" exchange rc "s/-g 1/-g 3/"
	check "link-local addresses, client and server swapped" swapped exchange rc "s/-g 1/-g 3/;$SWAP"
	check "long messages" exchange rc "s/-c/-c -n 200 -s $LONG/" $LONG
	check "one receive" exchange rc "s/-c/-c -r 1/"
	check "ibv_srq_pingpong, the server has the larger GID" dialled_by_b swapped exchange srq "$SWAP"
	check "ibv_srq_pingpong over IPv6, with events" exchange srq "s/-g 1/-g 2 -e/"
	check "ibv_srq_pingpong, 64 queue pairs, long messages" exchange srq "s/-q 8/-q 64 -s $LONG/" $LONG
	check "without a GID: refused" refused "Failed to modify QP to RTR" "ibv_rc_pingpong"
	check "GID 0: refused" refused "Failed to modify QP to RTR" "ibv_rc_pingpong -g 0"
	check "direct connections are turned off" direct_off
	check "direct_port 0: refused" refused "Failed to modify QP to RTR" "ibv_rc_pingpong -g 1"
fi
meet_end
suite_finish
