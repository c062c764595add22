#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kill -9 of the client, the server or both during traffic: the connection ends at the client's
# side, no queue pair is left at either side, and the next connection works.
. "$(dirname "$0")/../lib/begin.sh"

begin rping ib_write_bw
two_links

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
