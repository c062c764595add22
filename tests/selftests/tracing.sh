#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the recipes of Documentation/tracing.rst, unchanged except for their duration, with perf,
# trace-cmd and bpftrace (as far as the kernel supports these tools), and compares the fields of
# tracepoints with the traffic.
. "$(dirname "$0")/../lib/begin.sh"

PAGE=$IWT_LIB/../../Documentation/tracing.rst
PINGS=30

# traffic_for SECONDS: runs clients and servers of rping, one connection after the other
traffic_for() {
	local end=$((SECONDS + $1))
	while [ $SECONDS -lt $end ]; do
		in_b iwt_patient 60 rping -s -a $IP_B -C 20 -V -S 3000 >/dev/null 2>&1 &
		wait_listen "$NS_B" 7174
		in_a iwt_patient 60 rping -c -a $IP_B -C 20 -V -S 3000 >/dev/null 2>&1
		wait $!
	done
}

# recipe NAME: runs the recipe NAME of the page during traffic, for 4 seconds instead of the time on
# the page
recipe() {
	local busy
	traffic_for 600 & busy=$!
	nap 1
	bash -c "$(python3 "$IWT_LIB/page.py" "$PAGE" recipe "$1" | sed 's/sleep [0-9]*/sleep 4/')" >"$TMP/out" 2>&1
	RECIPE=$?
	kill $busy
	wait $busy 2>/dev/null
	end_all "$NS_B" rping; end_all "$NS_A" rping
	busywait 20 no_qps "$DEV_A"; busywait 20 no_qps "$DEV_B"
	return $RECIPE
}
# has PATTERN...: does the output contain each PATTERN?
has() { local p; for p; do grep -qE "$p" "$TMP/out" || { echo "no $p in"; tail -n 20 "$TMP/out"; return 1; }; done; }
# cook NAME PATTERN...: runs the recipe NAME; its output must contain each PATTERN
cook() {
	check "$1: runs" recipe "$1" || tail -n 20 "$TMP/out" | diag
	check "$1: shows what the page says" has "${@:2}"
}
events() { grep -cE " $1: " "$TRACE/trace"; }
is() { local got; got=$("${@:2}"); [ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }; }
shows() { grep -qE "$1" "$TRACE/trace"; }
pings() { pair_once 7174 "rping -s -a $IP_B -C $PINGS -V -S 3000" "rping -c -a $IP_B -C $PINGS -V -S 3000"; }

# needs TOOL: prints the name of a file that exists if the kernel supports the tool
needs() {
	case $1 in
	perf) echo /proc/sys/kernel/perf_event_paranoid ;;
	bpftrace) echo /proc/sys/kernel/unprivileged_bpf_disabled ;;
	*) echo /sys/kernel/tracing ;;
	esac
}

begin rping python3
only_iw_tcp "tracepoints of iw_tcp"
only_with TRACE
[ -e "$PAGE" ] || skip_all "the documents are not here"
trace_events iw_tcp/iwt_connect
ALL=$(python3 "$IWT_LIB/page.py" "$PAGE" names tracepoints)
two_links
echo 40000 >$TRACE/buffer_size_kb

# The fields of tracepoints
# shellcheck disable=SC2086
check "pings with all events on" traced $(printf 'iw_tcp/%s ' $ALL) -- pings
busywait 20 no_qps "$DEV_A"
check "two connections begin" is 2 events iwt_connect
check "two connections end" is 2 events iwt_disconnect
check "the addresses of the initiator" shows "iwt_connect: .* initiator local=$IP_A:[0-9]+ remote=$IP_B:7174 mpa_rev=2 crc=1 "
check "the addresses of the responder" shows "iwt_connect: .* responder local=$IP_B:7174 remote=$IP_A:[0-9]+ mpa_rev=2 crc=1 "
check "states by name" shows 'iwt_qp_state: .* state=IDLE->RTS event=ATTACH err=0x00000'
check "steps by name" shows 'iwt_cm: ep=[0-9]+ state=CONNECTING->WAIT_REP event=TCP_UP status=0'
check "four startup frames" is 4 events iwt_mpa
count() { grep -cE "$1" "$TRACE/trace"; }
check "a Write for each ping" is $PINGS count 'iwt_wr_start: .* opcode=WRITE len=3000'
check "a Read for each ping" is $PINGS count 'iwt_wr_start: .* opcode=READ len=3000'
check "each Read completes" is $PINGS count 'iwt_wr_done: .* opcode=READ status=0'
check "four Sends for each ping complete" is $((4 * PINGS)) count 'iwt_wr_done: .* opcode=SEND status=0'
check "four receives for each ping complete" is $((4 * PINGS)) count 'iwt_wr_done: .* opcode=RECV status=0'
for op in WRITE READ_REQ READ_RESP SEND; do
	check "$op: each FPDU that is sent is received" \
		is "$(count "iwt_fpdu_tx: .* opcode=$op ")" count "iwt_fpdu_rx: .* opcode=$op "
done
octets() {
	sed -nE "s/.*iwt_$1: .* opcode=WRITE .* payload=([0-9]+) .*/\1/p" "$TRACE/trace" | awk '{ n += $1 } END { print n + 0 }'
}
check "octets of Writes are sent" is $((PINGS * 3000)) octets fpdu_tx
check "octets of Writes are received" is $((PINGS * 3000)) octets fpdu_rx
check "no address of kernel memory" sh -c "! grep -E 'iwt_.*ffff[0-9a-f]{12}' $TRACE/trace"
check "no field is a pointer" sh -c "! grep -h 'field:.*\*' /sys/kernel/tracing/events/iw_tcp/*/format"

# The recipes
for name in $(python3 "$IWT_LIB/page.py" "$PAGE" recipe ""); do
	tool=${name%-*}
	case $name in trace-cmd*) tool=trace-cmd ;; esac
	if ! command -v "$tool" >/dev/null; then
		# the laboratories with Debian 12 or another architecture have no bpftrace
		skip "$name" "no $tool here"
		continue
	fi
	# User-Mode Linux has tracepoints, but no perf events
	if ! [ -e "$(needs "$tool")" ]; then
		skip "$name" "this kernel has nothing for $tool"
		continue
	fi
	case $name in
	perf-stat) cook $name '[1-9][0-9,]* +iw_tcp:iwt_fpdu_rx' '[1-9][0-9,]* +iw_tcp:iwt_fpdu_tx' '[1-9][0-9,]* +iw_tcp:iwt_tx_batch' ;;
	perf-connections) cook $name "iw_tcp:iwt_connect: .*remote=$IP_B:7174" 'iw_tcp:iwt_disconnect: .*tx_octets=[1-9]' 'iwt_qp_state: .*state=IDLE->RTS' ;;
	trace-cmd-errors) cook $name 'iwt_qp_state: .*state=IDLE->RTS event=ATTACH' ;;
	trace-cmd-filter)
		cook $name 'iwt_fpdu_rx: .*opcode=WRITE .*payload=[1-9][0-9]{3} '
		check "$name: shows nothing else" sh -c "! grep -E 'payload=[0-9]{1,3} ' '$TMP/out'" ;;
	bpftrace-latency) cook $name '@usecs\[0\]:' '@usecs\[3\]:' '@+\|' ;;
	bpftrace-batches) cook $name '@octets\[[0-9]+\]:' '@+\|' ;;
	*) not_ok "$name: this test does not know the recipe" ;;
	esac
done
ktap_finish
