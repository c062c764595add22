# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs a server in B and a client in A, which must both end well.

# shellcheck source=tests/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/perftest.sh"

# At the end of rping its threads race. One closes the channel from which another is about to
# read the next event, or sees a flushed receive before the disconnect: either makes rping's
# status 255. (Newer rdma-core has both corrected.) This is no failure, as long as the client has
# had its last ping, which -v shows.
ended_late() { grep -qs '^rdma_get_cm_event: ' "$1"; }
flushed_first() { grep -qs '^wait for RDMA_READ_ADV state 11$' "$1"; }
had_all() { [[ $1 =~ \ -C\ ([0-9]+) ]] && grep -qsa "^ping data: rdma-ping-$((BASH_REMATCH[1] - 1)): " "$2"; }

# Both sides of fi_pingpong send a last message, and each goes when its own has left and the other
# one has come. The reader of the completions may be overtaken by the event that the peer has gone,
# which drops them: then it waits for ever, or crashes. By then all data have been compared: the
# line of the longest messages is there. It is a link's fault all the same if a message was lost, or
# if a request does not complete: so both links are looked at while the program still waits.
had_longest() { grep -qsE '^1m +[0-9]+ +=[0-9]+ ' "$1"; }

# came_begin COMMAND: writes down what the links have sent and received, if COMMAND is a program
# that may wait for ever. iwt_patient and ended() look again (IWT_LOOK) before they end it.
came_begin() {
	export IWT_LOOK=$IWT_LIB/stuck.sh
	case $1 in "fi_pingpong "*" -e rdm "*) ;; *) return 0 ;; esac
	rm -f "$TMP"/came*
	[ "$IWT_LINK_TYPE" = iw_tcp ] || return 0
	"$IWT_LIB/came.py" save "$TMP/came" "$NS_A" "$DEV_A" "$NS_B" "$DEV_B" &&
		IWT_LOOK="$IWT_LIB/came.py look $TMP/came"
}

# all_came: have both links received everything that was sent? Prints what is missing.
all_came() {
	[ "$IWT_LINK_TYPE" = iw_tcp ] || return 0
	"$IWT_LIB/came.py" look "$TMP/came"
	[ -e "$TMP/came.came" ] || return 1
	diag <"$TMP/came.came"
	[ ! -s "$TMP/came.came" ]
}

# excused RC COMMAND OUTPUT
excused() {
	case $1:$2 in
	255:"rping -c"*) ended_late "$3" && had_all "$2" "$3" ;;
	255:"rping -s"*) ended_late "$3" || flushed_first "$3" ;;
	# it was ended (TERM, KILL), or crashed (ABRT, SEGV); it has no status of its own
	124:"fi_pingpong "*" -e rdm "* | 13[479]:"fi_pingpong "*" -e rdm "* | 143:"fi_pingpong "*" -e rdm "*)
		had_longest "$3" && all_came ;;
	*) return 1 ;;
	esac
}

# well RC COMMAND OUTPUT: did COMMAND end well?
well() { [ "$1" = 0 ] || excused "$@"; }

# pair_once PORT SERVER-COMMAND CLIENT-COMMAND: sets CLIENT_RC and SERVER_RC
pair_once() {
	local port=$1 server=$2 client=$3 srv
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
	well $CLIENT_RC "$client" "$TMP/pair-client" || stop "$srv"
	ended "$srv" >/dev/null
	SERVER_RC=$?
	well $CLIENT_RC "$client" "$TMP/pair-client" && well $SERVER_RC "$server" "$TMP/pair-server"
}

# pair WHAT PORT SERVER-COMMAND CLIENT-COMMAND
pair() {
	local what=$1 client=$4 good='' was=$DISTANCE
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
