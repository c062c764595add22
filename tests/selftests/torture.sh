#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Streams of random messages in random segments, from a peer in A with its own TCP implementation:
# tests/peer/torture.py. Runs for 20 seconds by default.
#
#	torture.sh [--ip 4|6] [--time SECONDS] [--pressure] [--delay MS] [--kernel] [OPTION OF torture.py]...
#
# --delay: the path to the device has this delay, so that segments arrive together, and the device
# processes these segments together. --kernel: every second stream has a server in the kernel
# (iwt_echo). --pressure: TCP as a whole is short of memory, so that the device copies the first
# part of an FPDU, and then waits for the rest.
. "$(dirname "$0")/../lib/begin.sh"

ip=4 seconds=20 pressure='' delay='' kernel='' options=()
ECHO=/sys/kernel/debug/iwt_echo/listen
while [ $# -gt 0 ]; do
	case $1 in
	--ip) ip=$2; shift 2 ;;
	--time) seconds=$2; shift 2 ;;
	--pressure) pressure=1; shift ;;
	--delay) delay=$2; shift 2 ;;
	--kernel) kernel=1; shift ;;
	*) options+=("$1"); shift ;;
	esac
done
# echo_listens: makes iwt_echo listen in B
# echo_ends: ends the listener of iwt_echo, and unloads iwt_echo
ECHO_PORT=7200
echo_listens() { echo "8 $there $ECHO_PORT" 8<"/run/netns/$NS_B" >"$ECHO"; }
echo_ends() { echo >"$ECHO" && modprobe -r iwt_echo; }

begin iwt_ulp python3
only_iw_tcp "the settings are iw_tcp's"
{ net_setup 1500 && link_add "$NS_B" "$DEV_B" "$IF_B"; } || { not_ok "a link"; ktap_finish; }
if [ -n "$pressure" ]; then
	in_laboratory || skip_all "this test would take TCP's memory from this machine"
	# shellcheck source=tests/lib/tcpmem.sh
	. "$(dirname "$0")/../lib/tcpmem.sh"
	trap 'normal; cleanup' EXIT
	check "another process holds TCP's memory" hog
	pressed
fi
case $ip in
4) here=$IP_A there=$IP_B ;;
6) here=$IP6_A there=$IP6_B ;;
esac
if [ -n "$delay" ]; then
	in_a tc qdisc replace dev "$IF_A" root netem delay "${delay}ms" limit 100000 || skip_all "no netem here"
fi
if [ -n "$kernel" ]; then
	modprobe -q iwt_echo || missing_all "module iwt_echo"
	check "a server in the kernel" echo_listens
	options+=(--echo "$ECHO_PORT")
fi
in_a iwt_patient $((IWT_TIME * 2 + seconds)) python3 "$(dirname "$0")/../peer/torture.py" \
	--here "$here" --there "$there" --device "$DEV_B" --interface "$IF_A" --time "$seconds" \
	--run "ip netns exec $NS_B" --ulp "$IWT_BIN/iwt_ulp" "${options[@]}" >"$TMP/torture" 2>&1
subtests "IPv$ip" "$TMP/torture" $?
if [ -n "$delay" ] && has_feature COUNTERS; then
	gathered=$(counter "$DEV_B" gather)
	echo "# $gathered times the device waited for segments that arrived together"
	check "segments that arrive together are processed together" [ "$gathered" -ge 100 ]
fi
[ -z "$kernel" ] || check "the server in the kernel ends" echo_ends
[ -z "$pressure" ] || check "TCP was short of memory to the end" under_pressure
ktap_finish
