#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Streams of random messages in random segments, from a peer with a TCP of its own in A:
# tests/peer/torture.py. For 20 seconds unless told.
#
#	torture.sh [--ip 4|6] [--time SECONDS] [--pressure] [OPTION OF torture.py]...
#
# --pressure: TCP as a whole is short of memory, so that what has come of an FPDU is set
# aside until the rest has.
. "$(dirname "$0")/../lib/begin.sh"

ip=4 seconds=20 pressure='' options=()
while [ $# -gt 0 ]; do
	case $1 in
	--ip) ip=$2; shift 2 ;;
	--time) seconds=$2; shift 2 ;;
	--pressure) pressure=1; shift ;;
	*) options+=("$1"); shift ;;
	esac
done
begin iwt_ulp python3
only_iw_tcp "the settings are iw_tcp's"
{ net_setup 1500 && link_add "$NS_B" "$DEV_B" "$IF_B"; } || { not_ok "a link"; ktap_finish; }
if [ -n "$pressure" ]; then
	in_laboratory || skip_all "it would take TCP's memory from this machine"
	# shellcheck source=tests/lib/tcpmem.sh
	. "$(dirname "$0")/../lib/tcpmem.sh"
	trap 'normal; cleanup' EXIT
	check "others hold TCP's memory" hog
	pressed
fi
case $ip in
4) here=$IP_A there=$IP_B ;;
6) here=$IP6_A there=$IP6_B ;;
esac
in_a iwt_patient $((IWT_TIME * 2 + seconds)) python3 "$(dirname "$0")/../peer/torture.py" \
	--here "$here" --there "$there" --device "$DEV_B" --interface "$IF_A" --time "$seconds" \
	--run "ip netns exec $NS_B" --ulp "$IWT_BIN/iwt_ulp" "${options[@]}" >"$TMP/torture" 2>&1
subtests "IPv$ip" "$TMP/torture" $?
[ -z "$pressure" ] || check "it was short of memory to the end" under_pressure
ktap_finish
