#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The receive window on a path with a long delay: each end can announce a window as large as TCP's
# own limits allow, and enlarges the window while data arrive.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_bench tc ss
two_links 9000
modprobe -q tcp_diag
{ distance "far off" 40; } || skip_all "no netem here"

# sample: records the state of both ends that ss shows now
sample() {
	in_net "$NS_A" ss -tiH state established dport = :18600 >>"$TMP/ss-a"
	in_net "$NS_B" ss -tiH state established sport = :18600 >>"$TMP/ss-b"
}

# most END WORD: prints the largest value of WORD in all samples of END. ss prints two values for
# wscale ("wscale:SEND,RECEIVE"): the second value is used
most() { grep -o "\b$2:[0-9,]*" "$TMP/ss-$1" | sed 's/.*[:,]//' | sort -n | tail -n 1; }

# scale_of NS: prints the scale that TCP must choose in NS for the largest window that its limits
# allow. TCP announces the window in units of 2^scale during the whole connection.
scale_of() {
	local bytes scale=0
	bytes=$({ in_net "$1" sysctl -n net.ipv4.tcp_rmem; sysctl -n net.core.rmem_max; } |
		awk '$NF > most { most = $NF } END { print most }')
	while [ $((65535 << scale)) -lt "$bytes" ]; do scale=$((scale + 1)); done
	echo $scale
}

# run OPERATION COUNT: runs a client and a server for COUNT messages, and calls sample() ten times a
# second; sets CLIENT and SERVER to their exit statuses
run() {
	local srv opts=(-m flow -o "$1" -S 262144 -d 32 -n "$2" -w 0 -a "$IP_B")
	: >"$TMP/ss-a" >"$TMP/ss-b"
	wait_free "$NS_B" 18600
	start in_b "$IWT_BIN/iwt_bench" -s "${opts[@]}" >"$TMP/server" 2>"$TMP/said"
	srv=$PID
	wait_listen "$NS_B" 18600
	start in_a "$IWT_BIN/iwt_bench" -c "${opts[@]}" >"$TMP/client" 2>>"$TMP/said"
	while alive "$PID"; do
		sample
		nap 0.1
	done
	ended "$PID"
	CLIENT=$?
	ended "$srv"
	SERVER=$?
}

# grown END: do the samples of END show a window threshold (rcv_ssthresh) of more than 512 KiB?
grown() { [ "$(most "$1" rcv_ssthresh)" -gt $((512 << 10)) ] 2>/dev/null; }

# flow OPERATION END: tests an OPERATION whose data arrive at END (a or b). Repeats the test with
# more messages if the data arrived so fast that the samples do not show that the window has grown.
flow() {
	local count
	for count in 160 640 2560; do
		run "$1" $count
		[ $CLIENT = 0 ] && [ $SERVER = 0 ] || { diag <"$TMP/said"; break; }
		[ ! -s "$TMP/ss-a" ] || [ ! -s "$TMP/ss-b" ] || ! grown "$2" || break
	done
	check "$1: the client ends well" [ $CLIENT = 0 ]
	check "$1: the server ends well" [ $SERVER = 0 ]
	if [ ! -s "$TMP/ss-$2" ]; then
		skip "$1: the window" "ss shows no connection: no tcp_diag here"
		return
	fi
	check "$1: the client's scale" [ "$(most a wscale)" = "$(scale_of "$NS_A")" ]
	check "$1: the listener's scale" [ "$(most b wscale)" = "$(scale_of "$NS_B")" ]
	check "$1: the window grows" grown "$2"
	grep -o "wscale:[0-9,]*\|rcv_ssthresh:[0-9]*" "$TMP/ss-$2" | sort | uniq -c | sort -n | tail -n 3 | diag
}

flow write b
flow read a
ktap_finish
