#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A link, its net device, its namespace or the module is removed while queue pairs connect
# directly, while their messages wait for receives, and while queue pairs are reset and connect
# again (iwt_direct). The same is tested while the program is stopped (SIGSTOP): the removal must
# not wait for the program.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_direct rdma
only_iw_tcp "no other iWARP device connects without rdma_cm"
only_with DIRECT

said() { grep -q "^ok .* - $1" "$TMP/program"; }
tries() { [ "$(counter "$DEV_A" direct_try)" -gt 20 ]; }
# runs GROUP: starts the GROUP of iwt_direct, and waits until its queue pairs connect or wait
runs() {
	start "$IWT_BIN/iwt_direct" -n 100000 "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 "$1" >"$TMP/program" 2>&1
	case $1 in
	alone) busywait "$IWT_TIME" said "the queue pairs try to connect" && busywait "$IWT_TIME" tries ;;
	stay) busywait "$IWT_TIME" said "the streams wait" ;;
	churn) busywait "$IWT_TIME" tries ;;
	esac
}
# killed: kills the program, which may be stopped by SIGSTOP, and checks that the program ends
killed() {
	kill -KILL "$PID"
	ended "$PID" "$IWT_TIME" >/dev/null || [ $? = 137 ]
}
all_gone() { local link; for link in $GONE; do no_link "$link" || return; done; }

# one WHAT GROUP SIGNAL COMMAND...: runs GROUP, sends SIGNAL to the program, and runs COMMAND, which
# removes something. Then the links in the list GONE must be gone (if HOLDS is set, only after the
# program has ended).
one() {
	local what="$1 ($2, $3)" group=$2 signal=$3
	shift 3
	links_anew
	runs "$group" || { not_ok "$what: the program runs"; stop "$PID"; return; }
	kill "-$signal" "$PID"
	check "$what" iwt_patient "$IWT_TIME" "$@"
	[ -n "$HOLDS" ] || check "$what: the link is gone" busywait "$IWT_TIME" all_gone
	check "$what: the program can be killed" killed
	[ -z "$HOLDS" ] || check "$what: the link is gone" busywait "$IWT_TIME" all_gone
	no_link "$DEV_A" || check_no_objects 20 "$DEV_A" "$what"
	no_link "$DEV_B" || check_no_objects 20 "$DEV_B" "$what"
}
# removed WHAT COMMAND...: removes something by COMMAND, with all groups, and with a stopped program
removed() {
	local group
	for group in alone stay churn; do one "$1" $group CONT "${@:2}"; done
	one "$1" alone STOP "${@:2}"
}

two_links
HOLDS=
GONE=$DEV_A
removed "link deleted, initiator" ip netns exec "$NS_A" rdma link delete "$DEV_A"
GONE=$DEV_B
removed "link deleted, responder" ip netns exec "$NS_B" rdma link delete "$DEV_B"
GONE="$DEV_A $DEV_B"
removed "net devices deleted" ip -n "$NS_A" link delete "$IF_A"
removed "module unloaded" modprobe -r iw_tcp
# a queue pair that waits keeps its namespace alive, as a listening socket does
HOLDS=1
removed "namespaces deleted" bash -c "ip netns del $NS_A; ip netns del $NS_B"
ktap_finish
