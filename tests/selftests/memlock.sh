#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The rings of queues count against RLIMIT_MEMLOCK of the user who created them, as long as the
# queue exists or a process has mapped a page of its ring. (limits.sh tests the limit of one
# process.)
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_charge rdma setpriv prlimit
only_iw_tcp "who is charged is each driver's own"
two_links
steps=${IWT_ROUNDS:-400}

# without privileges, as a user
user() { echo "setpriv --reuid $1 --clear-groups --inh-caps=-all --bounding-set=-ipc_lock"; }
# as UID COMMAND...: runs COMMAND without privileges, as a user who has no other process
# shellcheck disable=SC2046
as() { in_a prlimit --memlock=unlimited:unlimited $(user "$1") "${@:2}"; }
search() { as "$@" search "$steps" ${IWT_SEED:+"$IWT_SEED"}; }
tap "a user" search 54321 "$IWT_BIN/iwt_charge" "$DEV_A"

# holds FILE LIMIT COMMAND...: starts a process, $HOLDER, that keeps its rings until $UNTIL is
# closed
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
tap "neither counts" search 54321 "$IWT_BIN/iwt_charge" "$DEV_A"
stop "$ONE" "$TWO"

if as 54321 unshare -U -r true 2>/dev/null; then
	tap "root of a user namespace" search 54321 unshare -U -r "$IWT_BIN/iwt_charge" "$DEV_A"
else
	skip "root of a user namespace" "this kernel lets no user make one"
fi

# Rings that are still mapped when the module is unloaded
if in_laboratory; then
	# shellcheck disable=SC2046
	check "rings stay mapped" holds three unlimited $(user 54323) "${CHARGE[@]}" hold 100
	check "the module goes" timeout 60 modprobe -r iw_tcp
	# shellcheck disable=SC2034
	MADE_DEV=()
	exec {UNTIL}>&-
	check "and the process uses them" ended "$HOLDER"
	subtests "then" "$TMP/three" $?
else
	skip "the module goes" "others may need it here"
fi
check "nothing is left" busywait "$IWT_TIME" nothing_of iwt_charge "$DEV_A"
ktap_finish
