# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs iwt_unplug, which starts processes that use A's link in many ways while the test deletes the
# link. A test that sources this file needs iwt_unplug, iwt_conn and python3.

CASES=async,cq_event,poll,cm_event,connect,listen,get_request,busy_poll,post,register,create,sleeps,stopped
# With other drivers fewer cases run: only cases in which the program waits in a system call for an
# event, or does not use the device again
[ "$IWT_LINK_TYPE" = iw_tcp ] || CASES=async,cq_event,poll,cm_event,sleeps,stopped

is_ready() { grep -q '^# ready' "$1"; }

# users_begin: starts all cases of iwt_unplug on A's link, and waits until iwt_unplug is ready
users_begin() {
	start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B
	SRV=$PID
	start in_b python3 -c 'import socket, time
s = socket.create_server(("'$IP_B'", 7472), backlog=8)
time.sleep(1e6)'
	SILENT=$PID
	wait_listen "$NS_B" 7471 && wait_listen "$NS_B" 7472 || return
	start in_a "$IWT_BIN/iwt_unplug" "$DEV_A" "$IWT_TIME" $CASES $IP_A $IP_B 7471 7472 >"$TMP/users" 2>&1
	USERS=$PID
	busywait "$IWT_TIME" is_ready "$TMP/users"
}

# users_end WHAT: tells iwt_unplug to check that its processes end, and reports the results with
# the prefix WHAT
users_end() {
	kill -USR1 "$USERS"
	ended "$USERS" $((IWT_TIME + 20)) >/dev/null
	subtests "$1" "$TMP/users" $?
	stop "$SRV" "$SILENT"
}
