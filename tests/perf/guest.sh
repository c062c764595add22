#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# guest.sh [a|b] VIEW ROUNDS MILLISECONDS CASE...: runs in a laboratory. In each round, measures
# each case with all contestants in turn. Prints lines "#| VIEW CASE ROUND CONTESTANT VALUE UNIT
# STATUS REASON", separated by tabs. VIEW is uml, or insn, path or two if the machine's clock counts
# instructions. STATUS is ok, failed, or none: the contestant does not support the case, or its
# connections ended too early. Fails if one measurement failed. In the view two, this script runs on
# both sides of two machines (tests/vm/two), and side b executes the commands of side a.

role=
if [[ $1 = [ab] ]]; then
	role=$1
	shift
	# shellcheck source=tests/hosts/lib.sh
	. "$(dirname "$(realpath "$0")")/../hosts/lib.sh"
	hosts_serve "$role"
fi
here=$(dirname "$(realpath "$0")")
if [ -z "$role" ]; then
	# shellcheck source=tests/lib/ktap.sh
	. "$here/../lib/ktap.sh"
	# shellcheck source=tests/lib/net.sh
	. "$here/../lib/net.sh"
fi
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
# shellcheck source=tests/perf/cells_ahead.sh
. "$here/cells_ahead.sh"
# shellcheck source=tests/perf/cells_two.sh
[ -z "$role" ] || . "$here/cells_two.sh"

view=$1 rounds=$2 CELL_MS=$3
shift 3
cases=("$@") failed=() fields=()
# If the clock of a machine counts instructions, it jumps forward when the machine is idle. So any
# time limit may expire while the machine waits for its disk. These limits are too long to expire.
# A small disk (DISK_MB) is filled soon.
# shellcheck disable=SC2034 # for cells.sh
[[ $view != @(insn|newest|path|two) ]] || CELL_INSN=1 CELL_LIMIT=86400 LISTEN_LIMIT=86400 IWT_TIME=86400 DISK_MB=32

emit() { (IFS=$'\t'; echo "#| $*"); }

# broke CONTESTANT: is CONTESTANT another driver than iw_tcp, and has a completion with an error
# ended its stream? Then there is no figure, but the benchmark has not failed.
broke() { [[ $1 == @(siw|rxe) ]] && grep -qs 'a completion:' "$TMP/said"; }

# once CASE ROUND CONTESTANT: measures one figure, in up to two attempts, and prints its line "#|".
# Sets SHOW to the value, to "failed", or to "-" if there is no figure.
once() {
	local reason status=failed
	reason=$(case_cannot "$3")
	SHOW=-
	if [ -n "$reason" ]; then
		emit "$view" "$1" "$2" "$3" - - none "$reason"
		return
	fi
	for _ in 1 2; do
		[ "$C_KIND" != path ] || path_is "$C_PATH" "$2" || { echo "# $1: no network"; break; }
		# remove the output of the previous contestant
		rm -f "$TMP/client" "$TMP/said"
		cell "$3" >"$TMP/value" && [ -s "$TMP/value" ] && { status=ok; break; }
		echo "# $1: an attempt of $3 failed: $(tail -n 1 "$TMP/said" 2>/dev/null)"
		# deleting the links ends connections that would disturb the next attempt
		links_down 2>/dev/null
	done
	if [ $status = failed ] && broke "$3"; then
		emit "$view" "$1" "$2" "$3" - - none "no complete run in two attempts"
		return
	fi
	if [ $status = failed ]; then
		SHOW=failed
		failed+=("$1/$3")
		emit "$view" "$1" "$2" "$3" - - failed "$(tail -n 1 "$TMP/said" 2>/dev/null | tr '\t' ' ')"
		return
	fi
	read -ra fields <"$TMP/value"
	SHOW=${fields[0]}
	emit "$view" "$1" "$2" "$3" "${fields[0]}" "${fields[1]}" ok ""
}

# link_settings: changes the settings of new links as the case demands
link_settings() {
	local set
	for set in "crc $C_CRC" "markers $C_MARKERS" "ahead $C_AHEAD" "large_fpdus $C_LARGE" "zerocopy $C_ZEROCOPY"; do
		[ ! -w "/sys/module/iw_tcp/parameters/${set% *}" ] ||
			echo "${set#* }" >"/sys/module/iw_tcp/parameters/${set% *}"
	done
}

one_case() { # CASE ROUND
	local who line
	case_parse "$1" || return
	C_ROUND=$2
	# for cases "path" and "tail", each contestant gets a new path
	[ -n "$C_PATH" ] || { no_path && mtu_is "$C_MTU"; } || return
	link_settings
	printf -v line '%2s  %-26s' "$2" "$C_NAME"
	fields=()
	for who in $C_WHO; do
		once "$C_NAME" "$2" "$who"
		printf -v line '%s %9s %-10s' "$line" "$who" "$SHOW"
	done
	echo "$line ${fields[1]}"
}

environment() {
	emit env view "$view"
	emit env "$view.kernel" "$(uname -r)"
	emit env "$view.processors" "$(nproc)"
	emit env "$view.rounds" "$rounds"
	emit env "$view.milliseconds" "$CELL_MS"
	emit env "$view.date" "$(date -u +%F)"
}

# do not let the kernel log crashes: a perftest client crashes if it connects too early
{ echo 0 >/proc/sys/debug/exception-trace; } 2>/dev/null
for module in iw_tcp siw rdma_rxe; do
	modprobe $module || echo "# no module $module"
done
net_prepare || { echo "# no network"; exit 1; }
environment
for ((r = 1; r <= rounds; r++)); do
	for name in "${cases[@]}"; do one_case "$name" "$r"; done
done
[ -z "$role" ] || two_end
[ ${#failed[@]} -eq 0 ] && exit 0
printf 'failed: %s\n' "$(printf '%s\n' "${failed[@]}" | sort -u | tr '\n' ' ')"
exit 1
