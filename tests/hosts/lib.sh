# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for scripts that run in two connected machines, possibly of different architectures
# (tests/vm/two). Both machines run the same script; its first argument, "a" or "b", is the side of
# the machine. On side b, hosts_serve() executes the commands that side a sends, until side a sends
# "end". hosts_links() makes a link with the name iwt0 on both sides.

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lib/ktap.sh
. "$here/../lib/ktap.sh"
# shellcheck source=tests/lib/net.sh
. "$here/../lib/net.sh"
# shellcheck source=tests/lib/pair.sh
. "$here/../lib/pair.sh"

REMOTE_PORT=4444
TESTS=$(dirname "$here")

# card: prints the name of the network card: the first net device other than lo
card() { find /sys/class/net -type l ! -name lo -printf '%f\n' | sort | head -n 1; }

# up ADDRESS ADDRESS6: waits for the card, gives these addresses to the card, and sets the card up.
# Sets CARD to the name of the card.
up() {
	modprobe -qa virtio_net e1000e
	busywait 20 test -n "$(card)" || return
	CARD=$(card)
	ip addr add "$1/24" dev "$CARD" && ip link set "$CARD" up && ip addr add "$2/64" dev "$CARD" nodad
}

# hosts_serve SIDE: on side b, executes the commands of side a, and then exits; on side a, does
# nothing
hosts_serve() {
	[ "$1" = b ] || return 0
	up $IP_B $IP6_B || exit
	python3 "$TESTS/hosts/remote.py" serve $IP_B $REMOTE_PORT
	exit
}

# ---- side a only: "a COMMAND" and "b COMMAND" run COMMAND on side a or b ----------------

a() { bash -c "$*"; }
b() { python3 "$TESTS/hosts/remote.py" run $IP_B $REMOTE_PORT "$*"; }
# other SIDE: prints the other side
# address SIDE 4|6: prints the IPv4 or IPv6 address of SIDE
# machine SIDE: prints architecture, kernel, byte order and driver of the card
other() { [ "$1" = a ] && echo b || echo a; }
address() { case $1$2 in a4) echo $IP_A ;; a6) echo $IP6_A ;; b4) echo $IP_B ;; b6) echo $IP6_B ;; esac; }

machine() { $1 "$(declare -f card); echo \$(uname -m), \$(uname -r), \$(python3 -c 'import sys; print(sys.byteorder)'), \$(ethtool -i \$(card) | head -n 1)"; }

# hosts_meet: sets up the card of side a; waits until side b answers and executes a command
hosts_meet() {
	up $IP_A $IP6_A || { not_ok "a network card"; return 1; }
	check "the other machine answers" busywait 600 ping -c 1 -W 1 $IP_B && check "the other machine executes a command" busywait 120 b true
}

hosts_links() {
	local side
	for side in a b; do
		echo "# $side: $(machine $side)"
		check "$side: a link" $side "$(declare -f card); modprobe iw_tcp && rdma link add iwt0 type iw_tcp netdev \$(card)"
	done
}

# hosts_end: checks that no queue pair is left on either side, deletes both links, and ends
# hosts_serve() on side b
hosts_end() {
	local side
	for side in a b; do
		check "$side: no resource is left" $side "! rdma resource show qp | grep -q ' pid '"
		check "$side: the link is deleted" $side "rdma link delete iwt0"
	done
	b end
}

# between SIDE PORT SERVER CLIENT: runs the command SERVER on SIDE and, when it listens on PORT, the
# command CLIENT on the other side. Sets CLIENT_RC and SERVER_RC to the exit statuses; the outputs
# are in $TMP/pair-client and $TMP/pair-server.
between() {
	local side=$1 port=$2 server=$3 client=$4
	$side "rm -f /tmp/server.rc; (timeout $IWT_TIME $server >/tmp/server 2>&1; echo \$? >/tmp/server.rc) </dev/null >/dev/null 2>&1 &"
	$side "bash $TESTS/lib/wait.sh $IWT_TIME port_is $port yes"
	$(other "$side") "timeout $IWT_TIME $client" >"$TMP/pair-client" 2>&1
	CLIENT_RC=$?
	$side "bash $TESTS/lib/wait.sh 30 test -s /tmp/server.rc; cat /tmp/server" >"$TMP/pair-server"
	SERVER_RC=$($side "cat /tmp/server.rc")
}

# well_between WHAT SIDE PORT SERVER CLIENT: runs both as between() does, and reports whether both
# ended without an error, as the result WHAT. If the cause of a failure is perftest itself
# (perftest.sh), runs both once more.
well_between() {
	local PAIR=$1
	between "${@:2}"
	if is_perftest "$5" && too_early "$CLIENT_RC" "$TMP/pair-client"; then
		once_more "$1: the client was rejected (status $CLIENT_RC)"
		between "${@:2}"
	elif is_perftest "$5" && no_clock "$CLIENT_RC" "$TMP/pair-client" && flushed "$TMP/pair-server"; then
		once_more "$1: the client could not measure the processor's clock"
		between "$2" "$3" "$(without_clock "$4")" "$(without_clock "$5")"
	fi
	if well "$CLIENT_RC" "$5" "$TMP/pair-client" && well "$SERVER_RC" "$4" "$TMP/pair-server"; then
		ok "$1"
		return
	fi
	judge_pair "$CLIENT_RC" "$SERVER_RC" "$TMP/pair-client" "$TMP/pair-server"
	not_ok "$1 (client $CLIENT_RC, server $SERVER_RC)"
	tail -n 12 "$TMP/pair-client" | cut -c 1-200 | diag
	tail -n 12 "$TMP/pair-server" | cut -c 1-200 | sed 's/^/# server: /'
	return 1
}

# verify SIDE: tests all operations in both directions, on connections whose server is on SIDE
verify() {
	local options="--timeout $IWT_TIME --max-size ${IWT_SIZE:-70000}"
	between "$1" 7472 "$IWT_BIN/iwt_verify -s -a $(address "$1" 4) $options" \
		"$IWT_BIN/iwt_verify -c $(address "$1" 4) $options"
	subtests "verify, server on $1" "$TMP/pair-client" "$CLIENT_RC"
	check "verify, server on $1: the server ends well" [ "$SERVER_RC" = 0 ] || diag <"$TMP/pair-server"
}

# quiet SIDE: are the counters of damaged data and of the peer's errors zero for the link of SIDE?
# Prints the counters that are not.
quiet() {
	local name n bad=0
	for name in rx_crc_err rx_proto_err mpa_bad; do
		n=$($1 "cat /sys/class/infiniband/iwt0/ports/1/hw_counters/$name")
		[ "$n" = 0 ] || { echo "$name $n"; bad=1; }
	done
	return $bad
}
