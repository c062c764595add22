#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kill -9 under traffic: the other side learns of it, nothing is left, and the
# next connection works.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/pair.sh"
. "$(dirname "$0")/../lib/drop.sh"

require rping ib_write_bw
require_type "$IWT_LINK_TYPE"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

no_qps() { ! rdma resource show qp link "$1/1" 2>/dev/null | grep -q ' pid '; }

for kind in traffic traffic_rping; do
	for victim in client server both; do
		MOVING_FROM=
		$kind || { not_ok "$kind runs"; stop "$CLI" "$SRV"; continue; }
		case $victim in
		client) kill -KILL "$CLI" ;;
		server) kill -KILL "$SRV" ;;
		both) kill -KILL "$CLI" "$SRV" ;;
		esac
		check "$kind, $victim killed: the connection ends" wait_quiet 30 "$NS_A" "$PORT"
		stop "$CLI" "$SRV"
		check "$kind, $victim killed: A has no queue pair left" busywait 20 no_qps "$DEV_A"
		check "$kind, $victim killed: B has no queue pair left" busywait 20 no_qps "$DEV_B"
		pair "$kind, $victim killed: the next connection works" 7174 \
			"rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"
	done
done
ktap_finish
