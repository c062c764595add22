# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Captures the packets between A and B, and searches them for data that are not encrypted. A test
# sources this file after lib/begin.sh.

# What an MPA frame and the data of rping contain if they are not encrypted
PLAIN='MPA ID Re[qp] Frame|rdma-ping-[0-9]'

# wire_on NETDEV FILTER: begins to capture the packets on NETDEV in A that match FILTER (of
# tcpdump), into the file $TMP/wire
# wire_off: ends the capture
wire_on() {
	start in_a tcpdump -U -B 32768 -i "$1" -w "$TMP/wire" "$2" 2>"$TMP/wire-said"
	WIRE=$PID
	busywait 20 grep -q "listening on" "$TMP/wire-said"
}
wire_off() {
	nap 1
	stop "$WIRE"
}

# packets FILTER: prints the number of captured packets that match FILTER
packets() { tcpdump -nn -r "$TMP/wire" "$1" 2>/dev/null | wc -l; }
# shows_plain: do the captured packets contain an MPA frame or data of rping that are not encrypted?
shows_plain() { grep -Eaq "$PLAIN" "$TMP/wire"; }
