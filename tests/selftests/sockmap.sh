#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A BPF program puts connections into a sockmap before the listener gets these connections. The
# device must refuse the connections, because sockmap uses their sockets. When the program has been
# detached, connections must work.
. "$(dirname "$0")/../lib/begin.sh"

begin rping iwt_sockmap
two_links
group=$TMP/cgroup
mkdir "$group"
mount -t cgroup2 none "$group" || skip_all "no cgroup2 here"
trap 'umount "$group"; cleanup' EXIT

said() { grep -q "$1" "$TMP/map"; }

start in_b rping -s -P -a $IP_B >"$TMP/listener" 2>&1
srv=$PID
wait_listen "$NS_B" 7174
exec {end}> >("$IWT_BIN/iwt_sockmap" "$group" 7174 >"$TMP/map" 2>&1; echo "status $?" >>"$TMP/map")
busywait 20 said "attached\|status"
if said "status 4"; then
	diag <"$TMP/map"
	skip "sockets in a map" "this kernel has no such programs"
	ktap_finish
fi
check "a program for the sockets of B" said attached
for n in 1 2 3 4 5; do
	iwt_patient 20 ip netns exec "$NS_A" rping -c -d -a $IP_B -C 1 >"$TMP/rping" 2>&1
	check "connection $n is refused" grep -q "REJECTED, error -104\|UNREACHABLE" "$TMP/rping"
done
exec {end}>&-
busywait 20 said status
check "the refused connections were in the map" [ "$(sed -n 's/ sockets$//p' "$TMP/map")" -ge 5 ]
diag <"$TMP/map"
check "without the program connections work" in_a rping -c -a $IP_B -C 3 -V
check "the listener still runs" alive "$srv"
stop "$srv"
ktap_finish
