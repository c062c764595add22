# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Measures streams between two machines, each of which counts its own instructions: the client runs
# on side a, the server on side b (tests/hosts/lib.sh). One run gives a figure for the sender and a
# figure for the receiver. A case selects one of these figures; the other figure is saved for
# the case that selects it. Functions of the same name replace those of cells.sh.

# The commands that prepare a machine. All connections must begin alike, so TCP must forget the
# metrics of earlier connections, and all modules must be loaded. iwt_idle keeps the processor busy
# and counts the instructions that nothing else uses: on an idle processor, the kernel would count
# part of the interrupts' time as idle time.
TWO_PREPARE="modprobe -a iw_tcp rdma_ucm ib_uverbs && sysctl -qw net.ipv4.tcp_no_metrics_save=1 &&
	{ $IWT_BIN/iwt_idle /tmp/idle </dev/null >/tmp/idle.said 2>&1 & } &&
	bash $TESTS/lib/wait.sh 60 grep -q counting /tmp/idle.said"

net_prepare() {
	# shellcheck disable=SC2034 # for cells.sh
	SERVER=$IP_B
	up $IP_A $IP6_A && busywait 600 ping -c 1 -W 1 $IP_B && busywait 120 b true &&
		a "$TWO_PREPARE" && b "$TWO_PREPARE"
}

two_end() {
	a "pkill -x iwt_idle"
	b "pkill -x iwt_idle"
	b end
}

# mtu_is MTU: does nothing, because the MTU is that of the network cards
mtu_is() { :; }

links_up() { # TYPE
	local side
	for side in a b; do
		$side "$(declare -f card); cd /sys/module/iw_tcp/parameters && echo $C_CRC >crc &&
			echo $C_LARGE >large_fpdus && echo $C_ZEROCOPY >zerocopy &&
			rdma link add iwt0 type $1 netdev \$(card)" || return
	done
}

links_down() {
	a "rdma link delete iwt0"
	b "rdma link delete iwt0"
}

# serve WORD...: starts a server with this command on side b, and waits until it listens
serve() {
	b "rm -f /tmp/server.rc; (timeout $CELL_LIMIT ${*@Q} >/tmp/server 2>/tmp/said; echo \$? >/tmp/server.rc) </dev/null >/dev/null 2>&1 &"
	b "bash $TESTS/lib/wait.sh 60 grep -q listening /tmp/server"
}
# served: waits until the server ends; writes its output to $TMP/server, and returns its exit status
served() { b "bash $TESTS/lib/wait.sh 60 test -s /tmp/server.rc && cat /tmp/server && exit \$(cat /tmp/server.rc)" >"$TMP/server"; }

# together SERVER-COMMAND -- CLIENT-COMMAND: does the same as the function in cells.sh, with the
# server on side b; its output is in $TMP/server
together() {
	local server=() rc=1
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	: >"$TMP/client"
	: >"$TMP/said"
	if serve "${server[@]}" -i /tmp/idle; then
		timeout -k 2 "$CELL_LIMIT" "$@" -i /tmp/idle >"$TMP/client" 2>>"$TMP/said" && served && rc=0
	else
		echo "the server does not listen" >>"$TMP/said"
	fi
	[ $rc = 0 ] || { b "pkill -x '${server[0]##*/}'; cat /tmp/said"; sed 's/^/# /' "$TMP/said"; } >&2
	return $rc
}

# ends CONTESTANT sender|receiver: prints the name of the file with the contestant's figures for the
# sender or the receiver of the case
ends() { echo "$TMP/kept.$1.$C_OP.$C_SIZE.$C_QPS.$C_CRC.$C_LARGE.$C_ZEROCOPY.$2"; }

cell_two() { # CONTESTANT
	local file at_a=sender at_b=receiver
	file=$(ends "$1" "$C_END")
	[ "$C_OP" != read ] || at_a=receiver at_b=sender
	if [ ! -e "$file" ]; then
		case $1 in
		tcp) cell_tcp ;;
		*) cell_rdma "$1" ;;
		esac >/dev/null || return
		mv "$TMP/client" "$(ends "$1" $at_a)"
		mv "$TMP/server" "$(ends "$1" $at_b)"
	fi
	mv "$file" "$TMP/client"
	value
}
