# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common functions of the suites of applications. A suite sources this file, as root, in a
# laboratory (tests/vm/run); "tests/suites/run" runs the suites. A suite reads the commands from
# its page in Documentation/applications and runs each command unchanged at least once (with --quick
# some commands do not run), and some commands again with changes. Therefore the hosts have the
# addresses that the pages use: the server is 192.0.2.1 (B), the client is 192.0.2.2 (A).
# The line "# packages: NAMES" of a suite names the packages that the userland of the laboratories
# lacks; tests/vm/run unpacks them in the machine. "# packages of RELEASE: NAMES" is for one release.
#
#   NAME.sh [--type LINK_TYPE] [--quick]

# Some commands of the pages transfer much data, and an emulated machine on a busy host is slow
export IWT_TIME=${IWT_TIME:-300}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lib/consumer.sh
. "$here/../lib/consumer.sh"
# shellcheck source=tests/lib/pair.sh
. "$here/../lib/pair.sh"
# shellcheck source=tests/suites/hosts.sh
. "$here/hosts.sh"

# shellcheck disable=SC2034
IP_A=192.0.2.2 IP_B=192.0.2.1 IP6_A=2001:db8::2 IP6_B=2001:db8::1
SUITE=$(basename "$0" .sh)
PAGE=$here/../../Documentation/applications/$SUITE.rst
VERIFIED=0 RATIO=-

# if_quick A B: prints A in the short form of the suite, else B
if_quick() { if [ -n "$QUICK" ]; then echo "$1"; else echo "$2"; fi; }

# suite_begin PROGRAM...: begins the suite. If one of these programs or the module of the link type
# is missing, the suite fails in a laboratory, and is skipped elsewhere. Without its page the suite
# is skipped.
suite_begin() {
	require python3 "$@"
	require_type "$IWT_LINK_TYPE"
	[ -e "$PAGE" ] || skip_all "the documents are not here"
	patience_begin "$TMP/clock"
	ktap_begin
}

# verified OCTETS: adds OCTETS to the number of compared bytes
verified() { VERIFIED=$((VERIFIED + $1)); }

# compared MB COMMAND...: runs COMMAND, which compares MB megabytes, and adds these megabytes to the
# number of compared bytes
compared() { "${@:2}" && verified $(($1 << 20)); }

# recipe NAME: prints the commands of the recipe NAME of the page; with "", the names of all
# recipes
recipe() { python3 "$IWT_LIB/page.py" "$PAGE" recipe "$1"; }

# as_told NAME FILE: does FILE contain the output that the page shows for the recipe NAME? Succeeds
# if the page shows no output of this recipe.
as_told() { python3 "$IWT_LIB/page.py" "$PAGE" output "$1" "$2"; }

# ran NAME...: records that the suite has executed these recipes or commands of the page unchanged
ran() { printf '%s\n' "$@" >>"$TMP/ran"; }

# serve NAME [in_b]: starts the recipe of a server that stays in the foreground. The pid of the
# server is in PID
serve() { start "${@:2}" bash -c "$(recipe "$1")" && ran "$1"; }

# cook HOST NAME [SED-SCRIPT]: runs a recipe of the page on HOST (see hosts.sh), in this tree. If
# the page shows the output of the recipe, the recipe must print this output, unless SED-SCRIPT
# has changed the recipe.
cook() {
	local rc=0 text
	text=$(recipe "$2" | sed "${3:-}")
	[ -n "$text" ] || { echo "the page has no recipe $2"; return 1; }
	on "$1" iwt_patient "$IWT_TIME" bash -ec "cd '$here/../..'; $text" >"$TMP/cooked" 2>&1 || rc=$?
	cat "$TMP/cooked"
	[ $rc = 0 ] || { echo "status $rc of:"; echo "$text"; return $rc; }
	[ -n "${3:-}" ] || { ran "$2" && as_told "$2" "$TMP/cooked"; }
}

has_run() { grep -qsxF -e "$1" "$TMP/ran"; }

# look HOST: runs each command in the text of the page (outside of recipes) once; these commands
# only show something
look() {
	local line
	while IFS= read -r line; do
		has_run "$line" || { check "$line" on "$1" bash -c "$line" && ran "$line"; }
	done < <(commands)
}
# commands: prints the commands in the text of the page
commands() { python3 "$IWT_LIB/page.py" "$PAGE" commands ''; }

# every_recipe: did the suite execute every recipe of the page, and every command in the text of the
# page?
every_recipe() {
	local name rc=0
	while IFS= read -r name; do
		has_run "$name" || { echo "not $name"; rc=1; }
	done < <(recipe ''; commands)
	return $rc
}

# follow WHAT HOST NAME [SED-SCRIPT]: like cook, and reports the result as the check WHAT
follow() { check "$1" cook "${@:2}"; }

# seconds COMMAND...: runs COMMAND and stores its duration in TOOK (microseconds)
seconds() {
	local began=${EPOCHREALTIME/./} rc
	"$@"
	rc=$?
	TOOK=$((${EPOCHREALTIME/./} - began))
	return $rc
}

# emulated: does an emulator execute this machine's instructions? The laboratories under QEMU have a
# serial port or a virtual console for the script (LAB_IO in vm/guest/init).
emulated() { grep -qsE '\<LAB_IO=(ttyS|hvc)' /proc/cmdline; }

# ratio TCP-MICROSECONDS RDMA-MICROSECONDS: sets RATIO to the speed of RDMA divided by the speed of
# TCP. An emulated processor does not take the times of a real processor, so there is no ratio then;
# "make bench" counts instructions instead.
ratio() { emulated || RATIO=$(awk -v t="$1" -v r="$2" 'BEGIN { printf "%.2f", t / r }'); }

# suite_finish: ends the suite. Checks every_recipe (not with --quick), and prints the kernel's last
# warnings and the line from which tests/suites/run makes its table.
suite_finish() {
	if [ -z "$QUICK" ]; then check "every command of the page has run" every_recipe; fi
	dmesg -l emerg,alert,crit,err,warn | sed '1,/lab: the script starts/d;s/^/kernel: /' | tail -n 40
	echo "# suite $SUITE kernel $(uname -r) octets $VERIFIED ratio $RATIO"
	ktap_finish
}
