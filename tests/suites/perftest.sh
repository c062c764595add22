#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perftest: the commands and the options of Documentation/applications/perftest.rst. perftest does
# not compare its data. The library regions.so saves the memory of both ends, and the suite compares
# the last messages if they stay in the memory and have at least 64 bytes. ("make bench" measures
# the performance.)
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"
TELLING=1

# perf_once COMMAND: runs COMMAND at both ends; repeats the run if the client started before the
# server was ready (tests/lib/perftest.sh)
perf_once() {
	local was rc=0
	meet_commands 18515 "$1" "$1 192.0.2.1" && return
	too_early 1 "$TMP/client" || return
	once_more "$1: the client was rejected"
	was=$DISTANCE
	distance "far off" 100
	meet_commands 18515 "$1" "$1 192.0.2.1" || rc=$?
	[ -n "$was" ] || distance near
	return $rc
}
figures() { grep -qE '^ *[0-9]+ +[0-9]+ ' "$TMP/client"; }

# option LETTER COMMAND: prints the number that follows the option in COMMAND
option() { sed -n "s/.* -$1 *\\([0-9]\\+\\).*/\\1/p" <<<"$2"; }

# came COMMAND: is the last message of each connection in the memory of its receiver? Does not check
# programs that measure times, because these programs change the received bytes themselves. With
# messages in both directions (-b), the memory of each end contains the received and the sent
# messages, so twice as many messages are compared.
came() {
	local size count to=server
	case $1 in
	ib_read_bw*) to=client ;;
	ib_write_bw* | ib_send_bw*) ;;
	*) return ;;
	esac
	size=$(option s "$1")
	case " $1 " in *" -a "*) size=$((8 << 20)) ;; esac
	count=$(option q "$1")
	count=${count:-1}
	[ "${size:=65536}" -ge 64 ] || return 0
	case " $1 " in
	*" -b "*) regions_came $to "$size" $((2 * count)) ;;
	*) regions_came $to "$size" "$count" --part ;;
	esac
}
# perf COMMAND: like perf_once; the client must also print its results, and the data must be right
perf() {
	perf_once "$1" || return
	figures || { cat "$TMP/client"; return 1; }
	came "$1"
}

# commands_of NAME LINES: prints the commands of the recipe NAME; in the short form, only some of the
# first commands of each program: LINES is an address of sed, such as 1,2
commands_of() {
	if [ -z "$QUICK" ]; then recipe "$1"; else recipe "$1" | awk '!seen[$1]++' | sed -n "$2p"; fi
}
# every NAME LINES: runs the commands of the recipe NAME at both ends; in the short form only LINES
every() {
	local line lines
	mapfile -t lines < <(commands_of "$1" "$2")
	for line in "${lines[@]}"; do check "$line" perf "$line"; done
	ran "$1"
}

# fails_as_told: does ib_write_bw without -R fail, as the page says? (Direct connections are off.)
fails_as_told() {
	local srv rc=0
	start in_b ib_write_bw -F >"$TMP/server" 2>&1
	srv=$PID
	server_came 18515 || { stop "$srv"; return 1; }
	in_a iwt_patient "$IWT_TIME" ib_write_bw -F 192.0.2.1 >"$TMP/client" 2>&1 || rc=$?
	stop "$srv"
	cat "$TMP/client"
	[ $rc != 0 ] && grep -i "failed to modify qp" "$TMP/client"
}

# sleeps FILE: does the client sleep? The client sleeps if one of its completion queues has had
# completions and is armed, and if the output of LOOK is still the content of FILE. Otherwise writes
# the output of LOOK to FILE, and fails.
sleeps() {
	local now
	now=$(in_a bash -c "$LOOK")
	grep -E 'drv_produced [1-9].* drv_armed 1' <<<"$now" && diff "$1" - <<<"$now" && return
	echo "$now" >"$1"
	nap 2
	return 1
}
# decided PID: has the client ended, or does it sleep?
decided() { ! alive "$1" || sleeps "$TMP/queues"; }
# waits_once COMMAND: runs both ends once, and succeeds if the client sleeps. Sets ENDED if the
# client ended.
waits_once() {
	local client rc=0
	wait_free "$NS_B" 18515 || return
	start in_b bash -c "exec $1" >"$TMP/server" 2>&1
	local srv=$PID
	server_came 18515 || { stop "$srv"; return 1; }
	start in_a bash -c "exec $1 192.0.2.1" >"$TMP/client" 2>&1
	client=$PID
	true >"$TMP/queues"
	busywait 60 decided "$client" || rc=1
	ENDED=
	alive "$client" || { ENDED=1 rc=1; }
	cat "$TMP/queues" "$TMP/client"
	stop "$client" "$srv"
	return $rc
}
# waits_for_ever COMMAND: checks what the page says: the client of COMMAND sleeps and does not end.
# The command LOOK, which is also on the page, shows that the client sleeps. On a busy machine, the
# server's permission to send more may arrive before the client sleeps, and then the client ends. So
# the client must sleep in one of ten runs.
waits_for_ever() {
	local i
	for ((i = 0; i < 10; i++)); do
		if waits_once "$1"; then ran "$LOOK"; return; fi
		[ -n "$ENDED" ] || return 1
	done
	echo "the client has ended in all of ten runs"
	return 1
}
LOOK="rdma -dd resource show cq"

suite_begin ib_write_bw
if ! check "two hosts" meet_begin; then suite_finish; fi
if [ "$IWT_LINK_TYPE" = iw_tcp ]; then
	meet "ib_write_bw" 18515 write-bw
	[ -n "$QUICK" ] || meet "ib_send_lat" 18515 send-lat
	every options 1,2
	check "direct connections are turned off" direct_off
	[ -n "$QUICK" ] || check "direct connections are off: ib_write_bw fails" fails_as_told
else
	skip "without -R" "only iw_tcp has direct connections"
	ran write-bw-server write-bw-client send-lat-server send-lat-client options
fi
meet "ib_write_bw with rdma_cm" 18515 cm
every cm-options 3,4
[ -n "$QUICK" ] || check "-e -r 32: the client waits for ever, in one of ten runs at least" waits_for_ever "ib_send_bw -R -F -e -r 32"
meet_end
suite_finish
