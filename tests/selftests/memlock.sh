#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The ring of a queue counts against RLIMIT_MEMLOCK of the user who created the queue, as long as
# the queue exists, or a process or a pipe refers to a page of the ring. (limits.sh tests the limit
# of one process.) IWT_ROUNDS: number of steps of the search (400); IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_charge rdma setpriv prlimit
only_iw_tcp "other drivers charge by other rules"
two_links
steps=${IWT_ROUNDS:-400}

# user UID: prints a command that runs another command as UID without privileges
user() { echo "setpriv --reuid $1 --clear-groups --inh-caps=-all --bounding-set=-ipc_lock"; }
# as UID COMMAND...: runs COMMAND in A as UID, without privileges and without a limit of locked
# memory
# shellcheck disable=SC2046
as() { in_a prlimit --memlock=unlimited:unlimited $(user "$1") "${@:2}"; }
# search UID [PREFIX...] iwt_charge DEVICE: runs iwt_charge in its mode "search", as the user UID
search() { as "$@" search "$steps" ${IWT_SEED:+"$IWT_SEED"}; }
tap "a user" search 54321 "$IWT_BIN/iwt_charge" "$DEV_A"
tap "at the same time" as 54321 "$IWT_BIN/iwt_charge" "$DEV_A" beside "$((steps * 5))"

# holds NAME LIMIT COMMAND...: starts a process that keeps its rings until the descriptor UNTIL is
# closed. Its pid is in HOLDER, its output in $TMP/NAME, its limit of locked memory is LIMIT.
holds() {
	mkfifo "$TMP/$1.until" && exec {UNTIL}<>"$TMP/$1.until" || return 1
	start in_a prlimit --memlock="$2:$2" "${@:3}" <"$TMP/$1.until" >"$TMP/$1" 2>&1 {UNTIL}>&-
	HOLDER=$PID
	busywait "$IWT_TIME" eval "grep -q '^ok' $TMP/$1 || ! alive $HOLDER"
	grep -q '^ok' "$TMP/$1"
}
CHARGE=("$IWT_BIN/iwt_charge" "$DEV_A")
check "a process that may lock memory has more than its limit" holds one 65536 "${CHARGE[@]}" hold 200 54321 ||
	diag <"$TMP/one"
ONE=$HOLDER
# shellcheck disable=SC2046
check "another user has rings" holds two unlimited $(user 54322) "${CHARGE[@]}" hold 100 || diag <"$TMP/two"
TWO=$HOLDER
tap "rings beyond RLIMIT_MEMLOCK and of another user don't count" search 54321 "$IWT_BIN/iwt_charge" "$DEV_A"
stop "$ONE" "$TWO"

if as 54321 unshare -U -r true 2>/dev/null; then
	tap "root of a user namespace" search 54321 unshare -U -r "$IWT_BIN/iwt_charge" "$DEV_A"
else
	skip "root of a user namespace" "this kernel lets no user make one"
fi

# Tests rings that are still mapped when the module is unloaded
if in_laboratory; then
	# shellcheck disable=SC2046
	check "rings stay mapped" holds three unlimited $(user 54323) "${CHARGE[@]}" hold 100
	check "the module is unloaded while rings are mapped" iwt_patient 60 modprobe -r iw_tcp
	# shellcheck disable=SC2034
	MADE_DEV=()
	exec {UNTIL}>&-
	check "the process uses its rings and ends well" ended "$HOLDER"
	subtests "after the module was unloaded" "$TMP/three" $?
else
	skip "the module is unloaded while rings are mapped" "others may need the module here"
fi
check "nothing is left" busywait "$IWT_TIME" nothing_of iwt_charge "$DEV_A"
ktap_finish
