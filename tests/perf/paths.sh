# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Makes paths to a distant host: a router between both hosts delays, loses or reorders packets.
# Needs lib/middle.sh. The server is in A, and the client, which sends, is in B. The times are
# round trip times. A buffer (an skb) is the data that TCP passes to the net device in one call:
# usually many segments.
#
#	far	10 ms
#	lossy	10 ms; 0.05 % of the buffers are lost, each with all its segments
#	single	10 ms; each buffer has only one segment, and 0.01 % of the buffers are lost
#	order	1 ms; 1 % of the buffers overtake others
#	plain	10 ms; all offloads of all net devices are off
#
# For the delays of single messages (the cases "tail"). Each buffer has only one segment.
#
#	rare1, rare10	1 or 10 ms; 0.01 % of the segments are lost
#	often1, often10	1 or 10 ms; 0.1 % of the segments are lost
#	late1, late10	1 or 10 ms; 1 % of the segments to the server are delayed by this time

# shellcheck disable=SC2034 # for cases.sh
PATHS="far lossy single order plain"
TAIL_PATHS="rare1 often1 late1 rare10 often10 late10"
# The seed of netem determines which packets are lost or overtake others. All contestants of a round
# have the same seed.
PATH_SEED=1

# at_router WORD...: sets netem with these options on both net devices of the router
at_router() {
	local dev
	for dev in "$M_A" "$M_B"; do
		in_m tc qdisc replace dev "$dev" root netem limit 100000 seed "$PATH_SEED" "$@" || return
	done
}

# path_offloads WORD...: changes offloads of all net devices on the path; the WORDs are those of
# "ethtool -K"
path_offloads() {
	local side
	for side in "$NS_A $IF_A" "$NS_B $IF_B" "$NS_M $M_A" "$NS_M $M_B"; do
		in_net "${side% *}" ethtool -K "${side#* }" "$@" >/dev/null || return
	done
}

# path_times: prints by which factor a run on the path C_PATH is longer than CELL_MS. If packets are
# lost, the factor is larger, because congestion control needs seconds to find its rate.
path_times() { case $C_PATH in lossy | single) echo 16 ;; *) echo 4 ;; esac; }

# path_is NAME ROUND: removes the previous path or namespaces, and makes the path NAME; ROUND is the
# seed
path_is() {
	ON_PATH=1 SERVER=$IP_A CLIENT=$NS_B PATH_SEED=$2
	middle_gone && routed 1500 && no_memory "$NS_A" "$NS_B" || return
	case $1 in
	far) at_router delay 5ms ;;
	lossy) at_router delay 5ms loss 0.05% ;;
	single) at_router delay 5ms loss 0.01% && path_offloads tso off gso off ;;
	order) at_router delay 500us reorder 1% ;;
	plain) at_router delay 5ms && path_offloads rx off tx off sg off tso off gso off gro off ;;
	rare1) at_router delay 500us loss 0.01% && path_offloads tso off gso off ;;
	often1) at_router delay 500us loss 0.1% && path_offloads tso off gso off ;;
	late1) late 1ms && path_offloads tso off gso off ;;
	rare10) at_router delay 5ms loss 0.01% && path_offloads tso off gso off ;;
	often10) at_router delay 5ms loss 0.1% && path_offloads tso off gso off ;;
	late10) late 10ms && path_offloads tso off gso off ;;
	esac
}

# late TIME: the router delays all segments to the client, and 1 % of the segments to the server
late() {
	at_router delay "$1" && in_m tc qdisc replace dev "$M_A" root netem limit 100000 seed "$PATH_SEED" delay "$1" reorder 99%
}

# path_messages: prints the number of messages of 64 KB to send on the path C_PATH, and how many
# microseconds pass between two messages. TCP with CUBIC must be able to send twice as many in this
# time, although it loses segments.
path_messages() {
	case $C_PATH in
	rare1 | late1) echo 2000 1000 ;;
	often1) echo 1000 4000 ;;
	rare10) echo 1000 8000 ;;
	often10) echo 500 24000 ;;
	late10) echo 1000 2000 ;;
	esac
}

# congestion_control NAME: selects the congestion control of later connections in A and B
congestion_control() {
	modprobe -q "tcp_$1"
	in_net "$NS_A" sysctl -qw net.ipv4.tcp_congestion_control="$1" &&
		in_net "$NS_B" sysctl -qw net.ipv4.tcp_congestion_control="$1"
}

# no_path: removes the router, if there is one, and makes A and B without a router
no_path() {
	[ -n "${ON_PATH:-}" ] || return 0
	ON_PATH=
	middle_gone && net_prepare
}
