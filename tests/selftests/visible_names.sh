#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The names of counters, details of resources, tracepoints and settings in the documents are
# exactly the names that the module shows.
. "$(dirname "$0")/../lib/begin.sh"

DOC=$IWT_LIB/../../Documentation

# said PAGE TABLE...: prints the names in tables of a page
said() {
	local page=$1 table
	shift
	for table; do python3 "$IWT_LIB/page.py" "$DOC/$page.rst" names "$table"; done | sort
}

# same WHAT: compares $TMP/said with $TMP/shown, which must not be empty
same() {
	[ -s "$TMP/said" ] || { not_ok "$1: the page has no names"; return; }
	check "$1" diff "$TMP/said" "$TMP/shown"
}

# details KIND link|dev LINK: prints the names that the driver adds to "rdma -dd resource show" with
# these arguments
details() {
	rdma -dd -j resource show "$@" | grep -o '"drv_[a-z_]*"' | sed 's/"drv_//; s/"//' | sort -u
}

begin rping iwt_srq rdma python3
only_iw_tcp "names of iw_tcp"
only_with COUNTERS
[ -e "$DOC/tracing.rst" ] || skip_all "the documents are not here"
two_links
HW=/sys/class/infiniband/$DEV_A

said looking-inside stream device >"$TMP/said"
ls "$HW/ports/1/hw_counters" | grep -vx lifespan >"$TMP/shown"
same "counters of a link"
rdma -j statistic show link "$DEV_A/1" | grep -o '"[a-z0-9_]*":' | tr -d '":' | grep -vxE 'ifname|port' | sort >"$TMP/shown"
same "counters of a link by rdma statistic"

{
	for word in $(said looking-inside terminates); do echo "term_rx_$word"; echo "term_tx_$word"; done
	said looking-inside statuses
} | sort >"$TMP/said"
ls "$HW/hw_counters" | grep -vx lifespan | sort >"$TMP/shown"
same "causes of errors"

if want_configfs; then
	said operating settings >"$TMP/said"
	settings_begin
	ls "$SETTINGS/$DEV_A" >"$TMP/shown"
	settings_end
	same "settings"
	(cd /sys/module/iw_tcp/parameters && ls) | sort >"$TMP/shown"
	same "parameters of the module"
else
	skip "settings" "no configfs here"
fi

said tracing tracepoints >"$TMP/said"
if [ -d /sys/kernel/tracing/events/iw_tcp ]; then
	(cd /sys/kernel/tracing/events/iw_tcp && ls -d -- */) | tr -d / | sort >"$TMP/shown"
	same "tracepoints"
else
	skip "tracepoints" "no tracing here"
fi

start in_b rping -s -a $IP_B -C 1000000
wait_listen "$NS_B" 7174
start in_a rping -c -a $IP_B -C 1000000
CLIENT=$PID
check "a connection" busywait "$IWT_TIME" connected_qp "$DEV_A" "$CLIENT"
start in_a "$IWT_BIN/iwt_srq" -s $IP_A
wait_listen "$NS_A" 7478
kinds=("qp link" "cq dev" "mr dev" "srq dev")
case $(uname -r) in
6.1.*)
	skip "details: srq" "this kernel does not ask the driver for them"
	kinds=("${kinds[@]:0:3}") ;;
esac
for kind in "${kinds[@]}"; do
	said looking-inside "${kind% *}" >"$TMP/said"
	# shellcheck disable=SC2086
	details $kind "$DEV_A" >"$TMP/shown"
	same "details: ${kind% *}"
done
# the names of a connection's counters appear only while there is a connection
QPN=$(qp_of "$DEV_A" "$CLIENT")
rdma statistic qp bind link "$DEV_A/1" lqpn "$QPN" && {
	said looking-inside stream >"$TMP/said"
	rdma -j statistic qp show link "$DEV_A/1" | grep -oE '"(rx|tx|term|conn|reply|flush|[a-z]+)_[a-z_]*":' | tr -d '":' | sort >"$TMP/shown"
	same "names of a queue pair's counter"
}
ktap_finish
