#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# instructions.sh [--only TEXT]: counts the instructions of some operations, on a machine whose
# clock counts instructions (LAB_ICOUNT=1; the script "count" boots such a machine). Measures two
# things:
#
#	figures		cases of the benchmark, of iw_tcp or (CASE@tcp) of TCP. The number of
#			instructions of a case must be within 10 % of the number in
#			instructions.tsv. A case whose number is the word "new" fails, until
#			"count --renew" has stored a number. Prints lines "#| CASE VALUE UNIT"
#			with the measured numbers
#	shapes		streams of the Python peer (tests/peer/shapes.py). Twice as many
#			segments must need about twice as many instructions
#
# --only: measures only the cases and shapes whose names contain TEXT.
. "$(dirname "$0")/../lib/begin.sh"
here=$(dirname "$0")
# shellcheck source=tests/lib/middle.sh
. "$here/../lib/middle.sh"
# shellcheck source=tests/perf/paths.sh
. "$here/paths.sh"
# shellcheck source=tests/perf/cases.sh
. "$here/cases.sh"
# shellcheck source=tests/perf/cells.sh
. "$here/cells.sh"
# shellcheck source=tests/lib/nvme.sh
. "$here/../lib/nvme.sh"
# shellcheck source=tests/lib/iser.sh
. "$here/../lib/iser.sh"
# shellcheck source=tests/lib/nfs.sh
. "$here/../lib/nfs.sh"
# shellcheck source=tests/perf/cells_disk.sh
. "$here/cells_disk.sh"

only=
[ "${1:-}" != --only ] || only=$2
begin iwt_bench iwt_ulp python3
only_iw_tcp "the figures are iw_tcp's"
[ "$(nproc)" = 1 ] || skip_all "the clock of this machine does not count instructions"
# When the machine is idle, its clock jumps forward. So any time limit may expire while the machine
# reads from its disk. These limits are too long to expire.
# A small disk (DISK_MB) is filled soon.
CELL_INSN=1 CELL_LIMIT=86400 LISTEN_LIMIT=86400 IWT_TIME=86400 DISK_MB=32
ECHO=/sys/kernel/debug/iwt_echo/listen
ECHO_PORT=7200

# within VALUE KEPT: is VALUE between KEPT / 1.1 and KEPT * 1.1? KEPT is the figure in
# instructions.tsv. A VALUE below this range fails, too: with a KEPT that is too high, this test
# would not notice a later slowdown.
within() { awk -v now="$1" -v was="$2" 'BEGIN { exit !(was > 0 && now <= was * 1.1 && now >= was / 1.1) }'; }

# figure CASE KEPT UNIT: measures the case, and compares the figure with KEPT; appends the figure to
# $TMP/now
figure() {
	local value unit
	# shellcheck disable=SC2153 # case_parse sets C_MTU, C_CRC
	case_parse "$1" && mtu_is "$C_MTU" && echo "$C_CRC" >/sys/module/iw_tcp/parameters/crc || return
	# Up to three attempts: for large messages, the placement of memory pages changes the figure
	# by up to 15 %, although the driver executes the same number of instructions
	for _ in 1 2 3; do
		rm -f "$TMP/client"
		cell "${C_WHO%% *}" >"$TMP/value" || { sed 's/^/# /' "$TMP/said"; return 1; }
		read -r value unit <"$TMP/value"
		printf '%s\t%s\t%s\n' "$1" "$value" "$unit" >>"$TMP/now"
		[ "$unit" = "$3" ] && within "$value" "$2" && return
		[ "$2" != new ] || return
	done
	echo "it was $2 $3, and is $value: if that is on purpose, tests/perf/count --renew"
	return 1
}

echo_listens() { echo "8 $IP_B $ECHO_PORT" 8<"/run/netns/$NS_B" >"$ECHO"; }
echo_ends() { echo >"$ECHO" && modprobe -r iwt_echo; }

net_prepare || { not_ok "two namespaces"; ktap_finish; }
modprobe iw_tcp
while IFS=$'\t' read -ru 3 name kept unit; do
	[[ $name != \#* && $name == *"$only"* ]] || continue
	check "$name costs about $kept $unit" figure "$name" "$kept" "$unit"
done 3<"$here/instructions.tsv"
[ ! -e "$TMP/now" ] || sed 's/^/#| /' "$TMP/now"
[[ $only != insn-* ]] || ktap_finish

# shapes need a large congestion window, so do not let TCP reduce the window of an idle connection
in_a sysctl -qw net.ipv4.tcp_slow_start_after_idle=0
mtu_is 1500
if modprobe iwt_echo && link_add "$NS_B" "$DEV_B" "$IF_B" && echo_listens; then
	in_a python3 -B "$here/../peer/shapes.py" --here "$IP_A" --there "$IP_B" --device "$DEV_B" \
		--interface "$IF_A" --run "ip netns exec $NS_B" --ulp "$IWT_BIN/iwt_ulp" \
		--echo $ECHO_PORT --only "$only" >"$TMP/shapes" 2>&1
	subtests "shapes" "$TMP/shapes" $?
	check "the server in the kernel ends" echo_ends
else
	not_ok "a link, and a server in the kernel"
fi
ktap_finish
