#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A's link is deleted and added again and again while B makes connections to A: first without other
# changes; then while processes read all files of the links in /sys, one of them in namespaces that
# it creates and deletes; then also while the MAC address changes.
# IWT_ROUNDS: how often the link is deleted and added in each of the three parts (4)
# In the laboratory "dawdle" the driver waits at random at the places where races are possible.
. "$(dirname "$0")/../lib/begin.sh"

begin rdma iwt_conn unshare
ROUNDS=${IWT_ROUNDS:-4}

link_comes_and_goes() {
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		nap "0.$((RANDOM % 3))$((RANDOM % 10))"
		in_a iwt_patient "$IWT_TIME" rdma link delete "$DEV_A" || return
		in_net "$NS_A" rdma link add "$DEV_A" type "$IWT_LINK_TYPE" netdev "$IF_A" || return
	done
}
storm_passes() { grep -q "^ok .*messages return" "$TMP/storm"; }

# storm WHAT: waits until connections are made, and then deletes and adds the link, ROUNDS times
storm() {
	: >"$TMP/storm"
	check "$1: connections are made" busywait "$IWT_TIME" storm_passes
	check "$1: the link is deleted and added $ROUNDS times" link_comes_and_goes
}

# readers: starts processes that read all files of the links, in this namespace and in new
# namespaces, until the file "stop" exists. A file that disappears meanwhile is no error.
# shellcheck disable=SC2016
READ='cat /sys/class/infiniband*/*/* /sys/class/infiniband/*/*/* /sys/class/infiniband/*/ports/*/* \
	/sys/class/infiniband/*/ports/*/*/* /sys/class/infiniband/*/ports/*/*/*/* >/dev/null 2>&1'
readers() {
	start bash -c "while [ ! -e '$TMP/stop' ]; do $READ; done; :"
	READERS+=("$PID")
	start bash -c "while [ ! -e '$TMP/stop' ]; do unshare -nm sh -c 'mount -t sysfs sysfs /sys; $READ'; done; :"
	READERS+=("$PID")
}

# Changes A's MAC address until the file "stop" exists. With arp_notify, A announces each new
# address to B.
addresses() {
	local i=0
	in_net "$NS_A" sysctl -qw "net.ipv4.conf.$IF_A.arp_notify=1"
	while [ ! -e "$TMP/stop" ]; do
		i=$((i + 1))
		ip -n "$NS_A" link set "$IF_A" address "$(printf '02:77:00:01:%02x:%02x' $((i >> 8 & 255)) $((i & 255)))"
		nap 0.05
	done
}

two_links
# The server ends when its device is deleted, so start the server again and again. With other
# drivers the server can listen on one address only.
ON=()
[ "$IWT_LINK_TYPE" = iw_tcp ] || ON=(-a "$IP_A")
# shellcheck disable=SC2016
start in_a bash -c 'while :; do "$0" -s -n 64 "$@"; done' "$IWT_BIN/iwt_conn" "${ON[@]}" >"$TMP/storm-server" 2>&1
SRV=$PID
check "a server on any address" wait_listen "$NS_A" 7471
# shellcheck disable=SC2016
start in_b bash -c 'while :; do "$0" -t 5 -c "$1" -n 32 -r 1; done' "$IWT_BIN/iwt_conn" $IP_A >>"$TMP/storm" 2>&1
CLI=$PID
storm "a storm"
READERS=()
readers
storm "while others read /sys"
start addresses
READERS+=("$PID")
storm "while the MAC address changes"
touch "$TMP/stop"
for pid in "${READERS[@]}"; do check "a process that read or changed addresses ends" ended "$pid"; done
: >"$TMP/storm"
check "connections are made afterwards" busywait "$IWT_TIME" storm_passes
stop "$CLI" "$SRV"
end_all "$NS_A" iwt_conn
end_all "$NS_B" iwt_conn
check "no queue pair is left" busywait "$IWT_TIME" no_qps "$DEV_A"
ktap_finish
