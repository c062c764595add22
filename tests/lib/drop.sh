# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Traffic to be interrupted. Needs pair.sh.
# shellcheck disable=SC2034

established() { [ "$(ip netns exec "$1" ss -Htn state established "( sport = :$2 or dport = :$2 )" | wc -l)" -ge "${3:-1}" ]; }
quiet_tcp() { ! ip netns exec "$1" ss -Htn state established "( sport = :$2 or dport = :$2 )" | grep -q .; }

# traffic: endless writes from A to B; SRV and CLI are the pids, PORT its port
traffic() {
	local n
	PORT=18515
	quiet_crash
	for n in 1 2 3 4 5 6; do
		MOVING_FROM=
		busywait 20 not listening "$NS_B" $PORT
		start in_b ib_write_bw -R -F -D 600 -s 65536 >"$TMP/traffic-server" 2>&1
		SRV=$PID
		wait_listen "$NS_B" $PORT || return 1
		start in_a ib_write_bw -R -F -D 600 -s 65536 "$IP_B" >"$TMP/traffic-client" 2>&1
		CLI=$PID
		busywait "$IWT_TIME" moving_or_early
		moving "$NS_A" "$IF_A" 1000000 && break
		stop "$CLI" "$SRV"
	done
	loud_crash
	moving "$NS_A" "$IF_A" 1000000
}

moving_or_early() { moving "$NS_A" "$IF_A" 1000000 || too_early "$TMP/traffic-client"; }

# traffic_rping: endless sends, writes and reads, with rping
traffic_rping() {
	PORT=7174
	MOVING_FROM=
	busywait 20 not listening "$NS_B" $PORT
	start in_b rping -s -a "$IP_B" -S 8000 -P >"$TMP/traffic-server" 2>&1
	SRV=$PID
	wait_listen "$NS_B" 7174 || return 1
	start in_a rping -c -a "$IP_B" -S 8000 >"$TMP/traffic-client" 2>&1
	CLI=$PID
	busywait "$IWT_TIME" moving "$NS_A" "$IF_A" 100000
}

# moving NS NETDEV OCTETS: has this much been sent since the first call?
moving() {
	local now
	now=$(ip netns exec "$1" cat "/sys/class/net/$2/statistics/tx_bytes") || return 1
	[ -n "${MOVING_FROM:-}" ] || MOVING_FROM=$now
	[ $((now - MOVING_FROM)) -ge "$3" ]
}
