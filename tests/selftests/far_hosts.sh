#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Paths with long delays. The driver fills TCP's send buffer. TCP gives the net device packets of
# many segments, even if the congestion window is smaller than a batch of the driver. The driver
# frees its buffers after the traffic, and the receiver sends few acknowledgments.
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/middle.sh
. "$IWT_LIB/middle.sh"

begin iwt_bench tc ss ethtool
only_iw_tcp "how the engine hands octets to TCP"
only_with COUNTERS
modprobe -q tcp_diag
MSS=1448 SAID=

# sent bytes|packets: prints how many bytes or packets A's net device has sent. The net device
# counts a packet of many segments as one packet.
sent() { in_a cat "/sys/class/net/$IF_A/statistics/tx_$1"; }

# sample: records the state of A's connection that ss shows now
sample() { in_net "$NS_A" ss -tiHmO state established dport = :18600 >>"$TMP/ss"; }

# stream COUNT [SIZE]: sends COUNT Writes of SIZE bytes (65536) from A to the address TO of B, and
# takes samples
stream() {
	local srv opts=(-m flow -o write -S "${2:-65536}" -d 64 -e -w 0 -n "$1" -a "$TO")
	: >"$TMP/ss"
	wait_free "$NS_B" 18600
	start in_b "$IWT_BIN/iwt_bench" -s "${opts[@]}" >"$TMP/server" 2>&1
	srv=$PID
	wait_listen "$NS_B" 18600
	start in_a "$IWT_BIN/iwt_bench" -c "${opts[@]}" >"$TMP/client" 2>&1
	while alive "$PID"; do
		sample
		nap 0.05
	done
	ended "$PID" && ended "$srv"
}

# numbers PATTERN: prints the numbers after PATTERN in the samples, sorted; most and middle print
# the largest number and the median
numbers() { grep -o "$1[0-9]*" "$TMP/ss" | sed 's/.*[^0-9]//' | sort -n; }
most() { numbers "$1" | tail -n 1; }
middle() { numbers "$1" | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'; }

# The congestion window has 30 segments. If a batch does not fit into the window, TCP must not send
# the batch in smaller and smaller parts.
small_window() {
	local octets packets had
	had=$(in_net "$NS_A" sysctl -n net.ipv4.tcp_min_tso_segs)
	in_net "$NS_A" ip route replace $IP_B/32 dev "$IF_A" cwnd lock 30
	# By default, a packet has as many segments as TCP sends in a millisecond. On a slow machine
	# these are too few for this test.
	in_net "$NS_A" sysctl -qw net.ipv4.tcp_min_tso_segs=15
	# TCP applies the limit of a route after the first connection on the route has ended
	in_net "$NS_A" ip tcp_metrics flush all >/dev/null
	check "a congestion window below a batch: a short stream" stream 1
	octets=$(sent bytes) packets=$(sent packets)
	check "a congestion window below a batch: a long stream" stream 800
	octets=$(($(sent bytes) - octets)) packets=$(($(sent packets) - packets))
	echo "# $((octets / packets / MSS)) segments in a buffer, window $(most cwnd:)"
	[ ! -s "$TMP/ss" ] || check "a congestion window below a batch: it has at most 30 segments" [ "$(most cwnd:)" -le 30 ]
	check "a congestion window below a batch: packets have many segments" [ $((octets / packets)) -ge $((6 * MSS)) ]
	in_net "$NS_A" ip route del $IP_B/32
	in_net "$NS_A" sysctl -qw net.ipv4.tcp_min_tso_segs="$had"
}

# attempts COMMAND...: runs COMMAND up to three times, because a busy machine disturbs the
# measurements; succeeds if one attempt succeeds
attempts() {
	for _ in 1 2 3; do
		if "$@"; then return; fi
	done
	return 1
}

# full: sends a stream. In half of the samples, at least 80 % of TCP's send buffer must be full, and
# as many bytes must have been sent and not been acknowledged yet. (Succeeds if there are no
# samples.)
full() {
	local want
	stream 1600 || return
	[ -s "$TMP/ss" ] || return 0
	want=$(($(most "[,(]tb") * 4 / 5))
	SAID="$(middle "[,(]w") octets in a buffer of $(most "[,(]tb"), $(middle unacked:) segments under way"
	echo "$SAID"
	[ "$(middle "[,(]w")" -ge "$want" ] && [ $(($(middle unacked:) * MSS)) -ge "$want" ]
}
# full_on_some_path: calls full() with longer and longer delays, because with a longer delay even a
# slow machine can fill the buffer
full_on_some_path() {
	local ms
	for ms in 10 40 100; do
		delay $ms || return
		if full; then return; fi
	done
	return 1
}
full_buffer() {
	local had
	had=$(in_net "$NS_A" sysctl -n net.ipv4.tcp_congestion_control)
	# Not CUBIC, because CUBIC ends its slow start when round trips get longer, as happens on a
	# busy machine
	in_net "$NS_A" sysctl -qw net.ipv4.tcp_wmem="4096 16384 1048576" net.ipv4.tcp_congestion_control=reno
	check "a buffer of 1 MB is full most of the time, and most of its data have been sent" full_on_some_path
	[ -s "$TMP/ss" ] || skip "a buffer of 1 MB" "ss shows no connection: no tcp_diag here"
	echo "# $SAID"
	in_net "$NS_A" sysctl -qw net.ipv4.tcp_congestion_control="$had"
	delay 10
}

# whole: does TCP send each batch of the driver as one packet? TCP must neither send the buffers of
# a batch one by one, nor fill up a batch with data of the next batch.
whole() {
	local octets packets
	octets=$(sent bytes) packets=$(sent packets)
	stream 200 1048576 || return
	octets=$(($(sent bytes) - octets)) packets=$(($(sent packets) - packets))
	SAID="$((octets / packets / MSS)) segments in a buffer"
	echo "$SAID"
	[ $((octets / packets)) -ge $((36 * MSS)) ]
}
whole_batches() {
	# By default, a packet has as many segments as TCP sends in a millisecond. On a slow machine
	# this is less than a batch.
	in_net "$NS_A" sysctl -qw net.ipv4.tcp_min_tso_segs=44 net.ipv4.tcp_wmem="4096 16384 4194304"
	check "batches stay whole" attempts whole
	echo "# $SAID"
}

# The driver keeps the buffers in which it framed messages until the peer has acknowledged the data.
# Soon after the streams have ended, the driver must have freed all buffers except the buffers for
# later use: for each processor, 32 buffers, and 32 pages for short messages.
memory_goes() {
	local had keep
	keep=$(($(nproc) * 32 * (32768 + $(getconf PAGESIZE)))) had=$(counter "$DEV_A" mem_txbuf)
	echo "# $had octets of buffers for framing, $keep may stay"
	if [ "$had" -gt $keep ]; then
		# A connection that ends may keep its buffers for a minute. After a minute the
		# driver stops waiting for a peer that does not answer.
		check "buffers for framing are freed" busywait 75 no_more_than $keep ||
			echo "# $(counter "$DEV_A" mem_txbuf) octets are left"
	else
		skip "buffers for framing are freed" "the driver never needed more than it may keep"
	fi
}
# no_more_than OCTETS: first sends a packet on each processor, because the kernel may collect freed
# skbs in a list of the processor that has allocated them, and free their pages only when this
# processor receives its next packet (skb_attempt_defer_free())
no_more_than() {
	local cpu
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		in_net "$NS_A" taskset -c $cpu ping -c 1 -W 1 "$TO" >/dev/null
	done
	[ "$(counter "$DEV_A" mem_txbuf)" -le "$1" ]
}

# acks: prints how many packets B has sent; B sends no data, so these packets are acknowledgments
acks() { in_b cat "/sys/class/net/$IF_B/statistics/tx_packets"; }

# few NAME PERCENT: sends a stream. B must send at most PERCENT acknowledgments for 100 packets,
# because B acknowledges packets that arrive together by one acknowledgment. (Not checked on kernels
# without bottom half work.)
few() {
	local packets acks
	packets=$(sent packets) acks=$(acks)
	check "$1: a stream" stream 800
	packets=$(($(sent packets) - packets)) acks=$(($(acks) - acks))
	echo "# $packets packets, $acks acknowledgments"
	if bottom_half_work; then
		check "$1: few acknowledgments" [ $((acks * 100)) -le $((packets * $2)) ]
	else
		skip "$1: few acknowledgments" "this kernel has no bottom half work"
	fi
}
few_acks() {
	local side
	few "buffers of many segments" 60
	for side in "$NS_A $IF_A" "$NS_B $IF_B" "$NS_M $M_A" "$NS_M $M_B"; do
		in_net "${side% *}" ethtool -K "${side#* }" tso off gso off gro off >/dev/null
	done
	few "single segments" 25
}
# bottom_half_work: does this kernel run work items in bottom halves? Kernels since 6.9 do this, but
# not with PREEMPT_RT
bottom_half_work() { [[ $(uname -v) != *PREEMPT_RT* ]] && printf '6.9\n%s\n' "$(uname -r)" | sort -CV; }

# delay MS: delays the packets that the router sends, by MS milliseconds
delay() {
	local dev
	for dev in "$M_A" "$M_B"; do in_m tc qdisc replace dev "$dev" root netem limit 10000 delay "$1ms" || return; done
}

two_links
TO=$IP_B
{ distance "far off" 4; } || skip_all "no netem here"
small_window
middle_gone
routed || { not_ok "a router between A and B"; ktap_finish; }
check "a link in A, behind a router" link_add "$NS_A" "$DEV_A" "$IF_A"
check "a link in B, behind a router" link_add "$NS_B" "$DEV_B" "$IF_B"
TO=$FAR_B
full_buffer
whole_batches
memory_goes
few_acks
ktap_finish
