# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# Runs programs between the hosts of a lane (soak.sh explains the lanes). Clients of short() end by
# themselves, and must end without an error. Programs of endless() run until an event or the test
# ends them. A server's output is in $WORK/server, a client's output in $WORK/client.

# address 4|6 A|B: sets ADDRESS to the address of a host
address() {
	case $1$2 in
	4A) ADDRESS=$IP_A ;;
	4B) ADDRESS=$IP_B ;;
	6A) ADDRESS=$IP6_A ;;
	6B) ADDRESS=$IP6_B ;;
	esac
}

# KIND_commands, for each kind of program: sets SERVER, PORT and CLIENT. The arguments are further
# options of both programs, but of iwt_conn only of the client.
rping_commands() {
	# rping refuses messages of less than 23 bytes
	number 23 64000
	PORT=7174
	SERVER=(rping -s -a "$ADDRESS" -S "$PICK" -V "${@}")
	CLIENT=(rping -c -a "$ADDRESS" -S "$PICK" -V -v "${@}")
}

verify_commands() {
	local size ops
	one_of 3000 20000 70000
	size=$PICK
	one_of send,write read,write_imm send,read fetch_add,cmp_swap,send send_imm,write,read
	ops=$PICK
	number 1 30000
	PORT=7472
	SERVER=("$IWT_BIN/iwt_verify" -s -a "$ADDRESS" --timeout 120 --max-size "$size" --seed "$PICK" "$@")
	CLIENT=("$IWT_BIN/iwt_verify" -c "$ADDRESS" --timeout 120 --max-size "$size" --seed "$PICK" --ops "$ops" --no-neg --no-events "$@")
}

conn_commands() {
	number 1 24
	PORT=7471
	SERVER=("$IWT_BIN/iwt_conn" -s -a "$ADDRESS")
	CLIENT=("$IWT_BIN/iwt_conn" -c "$ADDRESS" -t 120 -n "$PICK" "$@")
}

# serving: starts SERVER in B and waits until it listens; SRV is its pid
serving() {
	start in_b "${SERVER[@]}" >"$WORK/server" 2>&1
	SRV=$PID
	wait_listen "$NS_B" "$PORT" && return
	complain "${SERVER[0]##*/} does not listen"
	show "$WORK/server"
	ends "$SRV"
	return 1
}

# short KIND 4|6: runs a client, which must end without an error (see well() in lib/pair.sh), and
# its server. The servers of iwt_conn must run until this function ends them.
short() {
	local status=0 kind=$1 PAIR="round $ROUND: $LANE"
	address "$2" B
	case $kind in
	rping) rping_commands -C 20 ;;
	verify) verify_commands --rounds 1 --no-wr ;;
	conn) conn_commands -r 10 ;;
	private) conn_commands && CLIENT=("$IWT_BIN/iwt_conn" -c "$ADDRESS" -t 120) ;;
	esac
	note "$kind IPv$2"
	serving || return
	iwt_patient 240 ip netns exec "$NS_A" "${CLIENT[@]}" >"$WORK/client" 2>&1 || status=$?
	if ! well $status "${CLIENT[*]}" "$WORK/client"; then
		complain "${CLIENT[*]}: status $status"
		show "$WORK/client"
		show "$WORK/server"
	fi
	clean "$kind" "$WORK/client" $status
	case $kind in
	conn | private) alive "$SRV" || complain "the server of $kind ended" ;;
	*) busywait 30 not alive "$SRV" || complain "the server of $kind does not end" ;;
	esac
	ends "$SRV"
	clean "$kind's server" "$WORK/server" "$STATUS"
}

# attached 4|6: runs iwt_attach, which has both ends in one process and on one link, and attaches
# sockets that it used before. The results depend on the link's settings, so this function passes
# these settings to iwt_attach as arguments.
attached() {
	local status=0 cases=("$IWT_BIN/iwt_attach" cases "$DEV_A")
	address "$1" A
	cases+=("$ADDRESS")
	is_set "$DEV_A" mpa_revision
	[ "$SET" != 1 ] || cases+=(plain)
	is_set "$DEV_A" crc
	[ "$SET" != off ] || cases+=(nocrc)
	note "attached sockets IPv$1 ${cases[*]:4}"
	iwt_patient 240 ip netns exec "$NS_A" "${cases[@]}" >"$WORK/client" 2>&1 || status=$?
	[ $status = 0 ] || { complain "iwt_attach cases: status $status"; grep -v -e '^ok' -e '^# of' "$WORK/client" >"$WORK/why"; show "$WORK/why"; }
	clean attached "$WORK/client" $status
}

# same_revision: if B's link has the MPA revision 1, sets this revision for A's link, too. When a
# link connects and the responder does not know the revision of the Request, the link tries again
# with an older revision. A program that attaches its own socket can't try again.
same_revision() {
	is_set "$DEV_B" mpa_revision
	[ "$SET" = 1 ] || return 0
	note "$DEV_A mpa_revision 1"
	mkdir -p "$SETTINGS/$DEV_A" && echo 1 >"$SETTINGS/$DEV_A/mpa_revision"
}

# endless KIND 4|6: starts a server and a client that run until an event or the test ends them;
# SRV and CLI are their pids
endless() {
	local kind=$1
	address "$2" B
	case $kind in
	rping) rping_commands ;;
	verify) verify_commands --rounds 20000 ;;
	conn) conn_commands -r 1000000 ;;
	attach) PORT=7176
		must "revision 1" same_revision
		SERVER=("$IWT_BIN/iwt_attach" serve "$DEV_B" "$ADDRESS" "$PORT")
		CLIENT=("$IWT_BIN/iwt_attach" client "$DEV_A" "$ADDRESS" "$PORT") ;;
	esac
	note "endless $kind IPv$2"
	serving || return
	start in_a "${CLIENT[@]}" >"$WORK/client" 2>&1
	CLI=$PID
	goes_on 60 && return
	complain "${CLIENT[*]} does not begin"
	show "$WORK/client"
	show "$WORK/server"
	return 1
}

# goes_on SECONDS: are the server and the client of endless() alive, and do bytes pass between
# them within SECONDS?
goes_on() {
	MOVING_FROM=
	busywait "$1" moving "$NS_A" "$IF_A" 30000 && alive "$CLI" && alive "$SRV"
}
