# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Captures what two namespaces send to each other, and looks for data in clear. A test sources this
# file after lib/begin.sh.

# What startup and the messages of rping look like in clear
PLAIN='MPA ID Re[qp] Frame|rdma-ping-[0-9]'

# wire_on NETDEV FILTER, wire_off: captures A's packets on NETDEV that match FILTER into $TMP/wire
wire_on() {
	start in_a tcpdump -U -B 32768 -i "$1" -w "$TMP/wire" "$2" 2>"$TMP/wire-said"
	WIRE=$PID
	busywait 20 grep -q "listening on" "$TMP/wire-said"
}
wire_off() {
	nap 1
	stop "$WIRE"
}

# packets FILTER: prints the number of captured packets that match
packets() { tcpdump -nn -r "$TMP/wire" "$1" 2>/dev/null | wc -l; }
shows_plain() { grep -Eaq "$PLAIN" "$TMP/wire"; }
