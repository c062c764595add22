# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Makes paths to a distant host: a router between both ends delays, loses or reorders packets.
# Needs lib/middle.sh. The client, which sends, is behind the router. The times are round trips.
#
#	far	10 ms
#	lossy	10 ms, and 0.05 % of TCP's buffers are lost, each with all of its segments
#	single	10 ms; each buffer has one segment, and 0.01 % of them are lost
#	order	1 ms, and 1 % of the buffers overtake others
#	plain	10 ms, and no net device has any offload

# shellcheck disable=SC2034 # for cases.sh
PATHS="far lossy single order plain"
# The seed determines loss and order of packets: they are the same for all contestants of a round
PATH_SEED=1

# at_router WORD...: runs "tc" with netem on both ports of the router
at_router() {
	local dev
	for dev in "$M_A" "$M_B"; do
		in_m tc qdisc replace dev "$dev" root netem limit 100000 seed "$PATH_SEED" "$@" || return
	done
}

# path_offloads WORD...: changes the offloads of all net devices on the path
path_offloads() {
	local side
	for side in "$NS_A $IF_A" "$NS_B $IF_B" "$NS_M $M_A" "$NS_M $M_B"; do
		in_net "${side% *}" ethtool -K "${side#* }" "$@" >/dev/null || return
	done
}

# path_times: prints by which factor a run on the path is longer than other runs: if packets are
# lost, congestion control needs seconds to find its rate
path_times() { case $C_PATH in lossy | single) echo 16 ;; *) echo 4 ;; esac; }

# path_is NAME ROUND: makes the path NAME, after it has removed the previous one
path_is() {
	ON_PATH=1 SERVER=$IP_A CLIENT=$NS_B PATH_SEED=$2
	middle_gone && routed 1500 && no_memory "$NS_A" "$NS_B" || return
	case $1 in
	far) at_router delay 5ms ;;
	lossy) at_router delay 5ms loss 0.05% ;;
	single) at_router delay 5ms loss 0.01% && path_offloads tso off gso off ;;
	order) at_router delay 500us reorder 1% ;;
	plain) at_router delay 5ms && path_offloads rx off tx off sg off tso off gso off gro off ;;
	esac
}

# no_path: the next case needs no router
no_path() {
	[ -n "${ON_PATH:-}" ] || return 0
	ON_PATH=
	middle_gone && net_prepare
}
