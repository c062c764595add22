#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# demo.sh a|b [--table]: runs tests/demo between two machines. This script runs on both machines
# (lib.sh); the server is on side b, the client is on side a.
# shellcheck source=tests/hosts/lib.sh
. "$(dirname "$(realpath "$0")")/lib.sh"
IP_A=10.0.0.2 IP_B=10.0.0.1
hosts_serve "$1"
shift
# shellcheck source=tests/demo/demo.sh
. "$TESTS/demo/demo.sh" "$@"

# shellcheck disable=SC2034 # for demo.sh
make_hosts() {
	host1=(python3 "$TESTS/hosts/remote.py" run "$IP_B" "$REMOTE_PORT" --) host2=()
	up "$IP_A" "$IP6_A" && busywait 600 ping -c 1 -W 1 "$IP_B" && busywait 120 b true || return
	dev1=$(b "$(declare -f card); card") dev2=$(card)
	path="two machines, $(ethtool -i "$dev2" | sed -n 's/^driver: //p')"
	b "echo 0 >/proc/sys/debug/exception-trace"
	run modprobe "$type" && run "${host1[@]}" modprobe "$type"
}

# crc on|off: turns the CRC on or off for new connections, on both machines
crc() {
	run_set "$1" /sys/module/iw_tcp/parameters/crc && run b "echo $1 >/sys/module/iw_tcp/parameters/crc"
}
settings_end() { :; }
# tests/demo/demo.sh skips perftest on emulated processors, but here perftest must run
emulated() { false; }
messages=1000
# The table has no row for NFS, because nfs_steps of demo.sh needs a directory that server and
# client share. (talk.sh tests NFS between two machines.)
nfs_row() { :; }

ktap_begin
demo 2>&1 | diag
check "the demo" [ "${PIPESTATUS[0]}" = 0 ]
b end
ktap_finish
