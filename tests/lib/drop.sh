# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Generates traffic for tests that interrupt the traffic. Needs net.sh and pair.sh.
# shellcheck disable=SC2034

# wait_quiet SECONDS NS PORT: waits until NS has no established connection from or to PORT
wait_quiet() { wait_in "$1" "$2" no_connections "$3"; }

# traffic: starts RDMA Writes from A to B that go on for ten minutes, and waits until data flow.
# Sets SRV and CLI to the pids of server and client, and PORT to the server's port. If the client
# connected too early (perftest.sh), starts both once more, with a longer network delay.
traffic() {
	local n was=$DISTANCE
	PORT=18515
	for n in 1 2; do
		MOVING_FROM=
		wait_free "$NS_B" $PORT
		start in_b ib_write_bw -R -F -D 600 -s 65536 >"$TMP/traffic-server" 2>&1
		SRV=$PID
		wait_listen "$NS_B" $PORT || return 1
		start in_a ib_write_bw -R -F -D 600 -s 65536 "$IP_B" >"$TMP/traffic-client" 2>&1
		CLI=$PID
		busywait "$IWT_TIME" moving_or_early
		[ -n "$was" ] || distance near
		moving "$NS_A" "$IF_A" 1000000 && return
		stop "$CLI" "$SRV"
		[ $n = 1 ] && too_early 0 "$TMP/traffic-client" || return
		once_more "traffic: the client was rejected"
		distance "far off" 100
	done
}

moving_or_early() { moving "$NS_A" "$IF_A" 1000000 || too_early 0 "$TMP/traffic-client"; }

# traffic_rping: starts rping, which sends, writes and reads without end, and waits until data
# flow. Sets SRV, CLI and PORT as traffic() does.
traffic_rping() {
	PORT=7174
	MOVING_FROM=
	wait_free "$NS_B" $PORT
	start in_b rping -s -a "$IP_B" -S 8000 -P >"$TMP/traffic-server" 2>&1
	SRV=$PID
	wait_listen "$NS_B" 7174 || return 1
	start in_a rping -c -a "$IP_B" -S 8000 >"$TMP/traffic-client" 2>&1
	CLI=$PID
	busywait "$IWT_TIME" moving "$NS_A" "$IF_A" 100000
}

# moving NS NETDEV BYTES: has NETDEV in the namespace NS sent at least BYTES bytes since the first
# call? The first call, before which the test must clear MOVING_FROM, stores the counter in
# MOVING_FROM.
moving() {
	local now fields
	now=$(in_net "$1" cat /proc/net/dev) || return 1
	[[ $now == *"$2":* ]] || return 1
	read -ra fields <<<"${now##*"$2":}"
	now=${fields[8]}
	[ -n "${MOVING_FROM:-}" ] || MOVING_FROM=$now
	[ $((now - MOVING_FROM)) -ge "$3" ]
}
