# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs a server in B and a client in A, and checks that both end without an error.

# shellcheck source=tests/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/perftest.sh"

# After the last ping, rping may fail in a race of its own threads, with exit status 255: one thread
# closes the event channel while another thread is about to read from the channel (ended_late), or,
# in the server, a thread sees a flushed receive before the disconnect (flushed_first). Newer
# versions of rdma-core do not have this race. Such an end of the client is accepted if the client
# has printed its last ping (had_all); the client needs the option -v for this. Such an end of the
# server is always accepted.
ended_late() { grep -qs '^rdma_get_cm_event: ' "$1"; }
flushed_first() { grep -qs '^wait for RDMA_READ_ADV state 11$' "$1"; }
had_all() { [[ $1 =~ \ -C\ ([0-9]+) ]] && grep -qsa "^ping data: rdma-ping-$((BASH_REMATCH[1] - 1)): " "$2"; }

# fi_pingpong may hang or crash at its end. Each side sends a last message, and exits when its own
# message has been sent and the peer's message has arrived. But if fi_pingpong processes the event
# "the peer has disconnected" before it reads the completions, it drops the completions, and then
# waits for ever or crashes. The test accepts this if fi_pingpong has printed the line of the
# longest messages (had_longest), because fi_pingpong has then compared all data. But a link that
# has lost a message or has not completed a request can also be the cause of a hang. So the test
# checks the counters of both links (all_came) while fi_pingpong still waits, or after its crash.
had_longest() { grep -qsE '^1m +[0-9]+ +=[0-9]+ ' "$1"; }

# came_begin COMMAND: prepares a run of COMMAND. If COMMAND is an fi_pingpong that may hang (with
# the option -e rdm), saves the counters of both links, and sets IWT_LOOK to a command that compares
# the counters: iwt_patient and ended() run $IWT_LOOK before they end a program.
came_begin() {
	export IWT_LOOK=$IWT_LIB/stuck.sh
	case $1 in "fi_pingpong "*" -e rdm "*) ;; *) return 0 ;; esac
	rm -f "$TMP"/came*
	[ "$IWT_LINK_TYPE" = iw_tcp ] || return 0
	"$IWT_LIB/came.py" save "$TMP/came" "$NS_A" "$DEV_A" "$NS_B" "$DEV_B" &&
		IWT_LOOK="$IWT_LIB/came.py look $TMP/came"
}

# all_came: has each link received all messages that the other link sent, counted no error, and
# completed all requests? If not, prints the violations. Uses the counters that came_begin saved
# (came.py). Links of other drivers are not checked.
all_came() {
	[ "$IWT_LINK_TYPE" = iw_tcp ] || return 0
	"$IWT_LIB/came.py" look "$TMP/came"
	[ -e "$TMP/came.came" ] || return 1
	diag <"$TMP/came.came"
	[ ! -s "$TMP/came.came" ]
}

# kept_pd OUTPUT: is this the ib_send_bw of Debian 12, which does not deregister one of its regions
# (perftest.rst)? Does OUTPUT have results, and no error messages except those of this fault?
kept_pd() {
	ib_send_bw --version | grep -q '^Version: 6\.06$' &&
		grep -qE '^ *[0-9]+ +[0-9]+ ' "$1" &&
		[ "$(grep -ciE 'fail|could|error|unable' "$1")" = 2 ] &&
		grep -q "Failed to deallocate PD - Device or resource busy" "$1" &&
		grep -q "Couldn't destroy all SEND resources" "$1"
}

# The name of the result for which a test runs the programs, or empty in a command of check(),
# which adds the name of its result
PAIR=

# excused RC COMMAND OUTPUT: COMMAND has failed with the exit status RC, and its output is in the
# file OUTPUT. Is this one of the known faults of rping, fi_pingpong and ib_send_bw? If so, prints
# a line "# forgiven: ", which tell() in job.sh copies to the output of make check.
excused() {
	local fault
	case $1:$2 in
	255:"rping -c"*)
		fault="after the last ping, two threads of rping raced"
		ended_late "$3" && had_all "$2" "$3" ;;
	255:"rping -s"*)
		fault="at its end, two threads of rping raced"
		ended_late "$3" || flushed_first "$3" ;;
	1:"ib_send_bw "*)
		fault="after its results, it did not deregister one of its regions"
		[[ " $2 " != *" -R "* ]] && kept_pd "$3" ;;
	# iwt_patient ended the program (124), the program crashed (ABRT 134, SEGV 139), or the
	# test ended it (KILL 137, TERM 143)
	124:"fi_pingpong "*" -e rdm "* | 13[479]:"fi_pingpong "*" -e rdm "* | 143:"fi_pingpong "*" -e rdm "*)
		fault="it did not end well after all messages had arrived"
		had_longest "$3" && all_came ;;
	*) return 1 ;;
	esac || return
	echo "# forgiven: ${PAIR:+$PAIR: }$2: status $1: $fault"
}

# well RC COMMAND OUTPUT: did COMMAND succeed, or fail with an error that excused() accepts?
well() { [ "$1" = 0 ] || excused "$@"; }

# pair_once PORT SERVER-COMMAND CLIENT-COMMAND: runs the server in B and the client in A, once. Sets
# CLIENT_RC and SERVER_RC to the exit statuses, or to "none" if the server does not listen on PORT.
# Fails unless both ended well.
pair_once() {
	local port=$1 server=$2 client=$3 srv good=1
	came_begin "$client"
	wait_free "$NS_B" "$port" || echo "# port $port is still taken"
	CLIENT_RC=none SERVER_RC=none
	# shellcheck disable=SC2086
	start in_b $server >"$TMP/pair-server" 2>&1
	srv=$PID
	if ! wait_listen "$NS_B" "$port"; then
		echo "no listener on port $port" >"$TMP/pair-client"
		stop "$srv"
		return 1
	fi
	# shellcheck disable=SC2086
	iwt_patient "$IWT_TIME" ip netns exec "$NS_A" $client >"$TMP/pair-client" 2>&1
	CLIENT_RC=$?
	well $CLIENT_RC "$client" "$TMP/pair-client" || { good=; stop "$srv"; }
	ended "$srv" >/dev/null
	SERVER_RC=$?
	[ -n "$good" ] && well $SERVER_RC "$server" "$TMP/pair-server"
}

# pair WHAT PORT SERVER-COMMAND CLIENT-COMMAND: runs the server in B and the client in A, and
# reports the result as WHAT. If a client of perftest connected too early, runs both once more, with
# a longer network delay.
pair() {
	local what=$1 client=$4 good='' was=$DISTANCE PAIR=$1
	if ! command -v "${client%% *}" >/dev/null; then
		missing "$what" "${client%% *}"
		return
	fi
	! pair_once "$2" "$3" "$4" || good=1
	if [ -z "$good" ] && is_perftest "$client" && too_early "$CLIENT_RC" "$TMP/pair-client"; then
		once_more "$what: the client was rejected (status $CLIENT_RC)"
		distance "far off" 100
		! pair_once "$2" "$3" "$4" || good=1
		[ -n "$was" ] || distance near
	fi
	if [ -n "$good" ]; then
		ok "$what"
		return
	fi
	judge_pair "$CLIENT_RC" "$SERVER_RC" "$TMP/pair-client" "$TMP/pair-server"
	not_ok "$what (client $CLIENT_RC, server $SERVER_RC)"
	tail -n 12 "$TMP/pair-client" | cut -c 1-200 | diag
	tail -n 12 "$TMP/pair-server" | cut -c 1-200 | sed 's/^/# server: /'
}
