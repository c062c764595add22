#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# instructions.sh: counts the instructions that both hosts together execute for each byte of a
# stream of 64 KB messages, over iw_tcp and over TCP. The number of instructions does not depend on
# the speed of the processor. Needs a virtual machine whose clock counts instructions
# (LAB_ICOUNT=1).
. "$(dirname "$0")/../lib/begin.sh"
here=$(dirname "$0")
# shellcheck source=tests/lib/middle.sh
. "$here/../lib/middle.sh"
# shellcheck source=tests/perf/paths.sh
. "$here/../perf/paths.sh"
# shellcheck source=tests/perf/cases.sh
. "$here/../perf/cases.sh"
# shellcheck source=tests/perf/cells.sh
. "$here/../perf/cells.sh"

begin iwt_bench
[ "$(nproc)" = 1 ] || skip_all "the clock of this machine does not count instructions"
# When the machine is idle, its clock jumps forward. So any time limit may expire while the machine
# reads from its disk. The limits here are too long to expire.
CELL_INSN=1 CELL_LIMIT=86400 LISTEN_LIMIT=86400

# measure CASE CONTESTANT WHAT: prints a line with the name WHAT: the median of three runs, because
# the placement of memory pages and the number of wakeups vary. tests/perf/cases.sh describes CASE
# and CONTESTANT.
measure() {
	local value values=()
	# shellcheck disable=SC2153 # case_parse sets C_MTU, C_CRC
	case_parse "$1" && mtu_is "$C_MTU" && echo "$C_CRC" >/sys/module/iw_tcp/parameters/crc || { not_ok "$3"; return; }
	for _ in 1 2 3; do
		rm -f "$TMP/client"
		value=$(cell "$2") || { not_ok "$3"; diag <"$TMP/said"; return; }
		values+=("${value% *}")
	done
	printf '@ %-28s %6.2f\n' "$3" "$(printf '%s\n' "${values[@]}" | sort -g | sed -n 2p)"
}

net_prepare || { not_ok "two namespaces"; ktap_finish; }
modprobe iw_tcp
printf '@\n@ Processor instructions for each byte, both hosts together, 64 KB messages, MTU 1500\n@\n'
measure insn-write-64k-1500 iw_tcp "RDMA Write, no CRC"
measure insn-write-64k-1500 tcp "TCP, without RDMA"
measure insn-write-64k-1500-crc iw_tcp "RDMA Write, CRC32c"
check "each case was measured" [ "$KTAP_BAD" = 0 ]
ktap_finish
