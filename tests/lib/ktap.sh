# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reports results in TAP. A test calls functions such as ok, not_ok, skip, check, refuse and
# subtests, and ends with ktap_finish. If a test fails because a wait timed out, the result ends
# with " (time-out)". Only results with this mark may be excused, if the machine stood still
# (tests/README).

KTAP_N=0 KTAP_BAD=0 KTAP_SKIPPED=0
KSFT_SKIP=4
KTAP_LOG=$(mktemp "${TMPDIR:-/tmp}/iwt-tap.XXXXXX")

ktap_begin() { echo "TAP version 13"; }

# "yes" if a wait of this shell has timed out since the last result, else empty. late() of wait.sh
# sets LATE.
LATE=
# If the output of a test matches this pattern, there is a fault besides a time-out
KTAP_NEVER='differ|instead of|wrong (octet|data)|corrupt|leak|changed|Segmentation fault|core dumped|status 1[3-9][0-9]'

# is_late STATUS [FILE]: did a command with the exit status STATUS and the output FILE fail because
# of a time limit? Yes, if STATUS is 124 (timeout(1) or iwt_patient ended the command), if a wait in
# this shell timed out, or if FILE reports a time-out. But not if FILE matches KTAP_NEVER, if a
# signal ended the command, or if STATUS is 0 or no number.
is_late() {
	case $1 in
	0) return 1 ;;
	*[!0-9]* | 12[89] | 1[3-9]? | 2??) return 1 ;;	# no number, or a signal ended the command
	esac
	[ "$1" = 124 ] || [ -n "$LATE" ] || grep -qsE '^(# ?)*time-out: ' "${2:-/dev/null}" || return 1
	! grep -qsE "$KTAP_NEVER" "${2:-/dev/null}"
}

# judge_late STATUS [FILE]: sets LATE for the next not_ok: "yes" if is_late STATUS FILE, else empty
judge_late() { if is_late "$@"; then LATE=yes; else LATE=; fi; }

# judge_pair CLIENT SERVER CLIENT-FILE SERVER-FILE: sets LATE for the next not_ok after a client and
# a server have ended. CLIENT and SERVER are the exit statuses, the files are the outputs. LATE
# becomes "yes" if one or both have failed, and is_late is true for each that has failed. A server
# that the test stopped (status 137 or 143) has not failed.
judge_pair() {
	local client=$1 server=$2
	LATE=
	case $server in 137 | 143) server=0 ;; esac
	if { [ "$client" = 0 ] || is_late "$client" "$3"; } && { [ "$server" = 0 ] || is_late "$server" "$4"; }; then
		[ "$client$server" = 00 ] || LATE=yes
	fi
}

# tap_moved: reports progress to iwt_patient
tap_moved() { [ ! -w "${IWT_MOVED:-}" ] || echo >>"$IWT_MOVED"; }

# ok WHAT, not_ok WHAT: report a result
ok() {
	LATE=
	tap_moved
	KTAP_N=$((KTAP_N + 1))
	echo "ok $KTAP_N - $*"
}

not_ok() {
	tap_moved
	KTAP_N=$((KTAP_N + 1)) KTAP_BAD=$((KTAP_BAD + 1))
	case $* in
	*" (time-out)") LATE= ;;
	esac
	echo "not ok $KTAP_N - $*${LATE:+ (time-out)}"
	LATE=
}

# skip WHAT REASON: reports that WHAT was not tested
skip() {
	LATE=
	KTAP_N=$((KTAP_N + 1)) KTAP_SKIPPED=$((KTAP_SKIPPED + 1))
	echo "ok $KTAP_N - $1 # SKIP $2"
}

# diag: copies its input to the output as comments of TAP
diag() { sed 's/^/# /'; }

# pass_on WHAT FILE: prints the lines of FILE about forgiven faults ("# forgiven: ") and second
# tries ("# once more: "), with WHAT, the name of the result, before their text
pass_on() {
	WHAT=$1 awk 'match($0, /^# (once more|forgiven): /) {
		print substr($0, 1, RLENGTH) ENVIRON["WHAT"] ": " substr($0, RLENGTH + 1)
	}' "$2"
}

# check WHAT COMMAND...: runs COMMAND, and reports the result as WHAT. If COMMAND fails, prints the
# last lines of its output, else only the lines about forgiven faults and second tries.
check() {
	local what=$1 rc=0
	shift
	LATE=
	"$@" >"$KTAP_LOG" 2>&1 || rc=$?
	if [ $rc = 0 ]; then
		pass_on "$what" "$KTAP_LOG"
		ok "$what"
		return 0
	fi
	judge_late $rc "$KTAP_LOG"
	not_ok "$what"
	echo "# failed: $*"
	tail -n 30 "$KTAP_LOG" | diag
	return 1
}

# failed_itself STATUS: did a command with the exit status STATUS fail by itself? A status of 124 or
# more means that a time limit or a signal ended the command, or that it could not be run. (A few
# programs exit with 255 themselves; tests of these programs convert this status.)
failed_itself() { [ "$1" -ge 1 ] && [ "$1" -lt 124 ]; }

# not COMMAND...: succeeds when COMMAND fails by itself
not() {
	local rc=0
	"$@" || rc=$?
	failed_itself $rc
}

# refuse WHAT COMMAND...: runs COMMAND, which must fail by itself, and reports the result as WHAT.
# The output of COMMAND must not say that a program could not be run. If REFUSAL, a pattern of grep
# -E, is set, the output of COMMAND must match this pattern.
REFUSAL=
refuse() {
	local what=$1 rc why=''
	shift
	LATE=
	"$@" >"$KTAP_LOG" 2>&1
	rc=$?
	if ! failed_itself $rc; then
		why="status $rc"
	elif grep -Eq '^exec of .* failed|: (command )?not found$|failed to (run|execute)' "$KTAP_LOG"; then
		why="there is no such program"
	elif ! grep -Eq -- "$REFUSAL" "$KTAP_LOG" && [ -n "$REFUSAL" ]; then
		why="not in these words: $REFUSAL"
	else
		ok "$what"
		return 0
	fi
	judge_late $rc "$KTAP_LOG"
	not_ok "$what ($why)"
	tail -n 30 "$KTAP_LOG" | diag
	return 1
}

# subtests PREFIX FILE STATUS: reports the results in FILE, the TAP of another program, as results
# of this test; PREFIX is added to their names. STATUS is the exit status of the program. Reports
# one more failure, and fails, if FILE has no plan or no result, if the number of results is not the
# planned number, or if STATUS is not 0 although the program reported no failure. A line
# "# time-out: ..." belongs to the next result in FILE.
subtests() {
	local prefix=$1 file=$2 status=${3:-that nobody looked at} line plan='' seen=0 bad=0 diags=()
	LATE=
	while IFS= read -r line; do
		case $line in
		'ok '*' # SKIP '*)
			line=${line#* - }
			skip "$prefix: ${line%% # SKIP *}" "${line##* # SKIP }"
			seen=$((seen + 1)) ;;
		'ok '*) ok "$prefix: ${line#* - }"; seen=$((seen + 1)) ;;
		'not ok '*) not_ok "$prefix: ${line#* - }"; seen=$((seen + 1)) bad=1 ;;
		1..*) plan=${line#1..} ;;
		'# time-out: '*) LATE=yes; echo "$line" ;;
		'# once more: '* | '# forgiven: '*) echo "${line%%: *}: $prefix: ${line#*: }" ;;
		'#'*) echo "$line" ;;
		*) diags+=("$line") ;;
		esac
	done <"$file"
	[[ $status != [0-9]* ]] || judge_late "$status"
	if [ "$plan" != "$seen" ] || [ "$seen" -eq 0 ]; then
		not_ok "$prefix: ran to its end (plan ${plan:-none}, $seen results, status $status)"
	elif [ "$status" != 0 ] && [ $bad = 0 ]; then
		not_ok "$prefix: ended well (status $status)"
	else
		[ "$status" = 0 ] || echo "# $prefix: status $status"
		LATE=
		return 0
	fi
	[ ${#diags[@]} -eq 0 ] || printf '# %s\n' "${diags[@]}" | tail -n 20
	return 1
}

# tap PREFIX COMMAND...: runs COMMAND, and reports its TAP results with subtests()
tap() {
	local prefix=$1 rc=0
	shift
	"$@" >"$KTAP_LOG" 2>&1 || rc=$?
	subtests "$prefix" "$KTAP_LOG" $rc
}

# lab_results PREFIX FILE STATUS: reports the TAP results of a test that ran in a laboratory, with
# subtests(). FILE has all output of tests/vm/run without carriage returns, and STATUS is its exit
# status. If the gate of the laboratory failed, that is one more failure. The lines of the gate are
# printed whole, because make check reads them. Without such lines prints the end of FILE.
lab_results() {
	grep -aE '^(TAP|ok|not ok|#|1\.\.)' "$2" >"$2.tap"
	subtests "$1" "$2.tap" "$3"
	# If tests failed, subtests does not report the status
	[ "$3" != 99 ] || not_ok "$1: the gate of the lab"
	[ "$3" != 0 ] || return 0
	if grep -aq '^vm: gate: ' "$2"; then sed -n '/^vm: gate: /,$p' "$2"; else tail -n 20 "$2" | diag; fi
}

# ktap_finish: prints the plan, and exits: with status 1 if a result is a failure or if there is no
# result, with status 4 if all results are skips, else with status 0
ktap_finish() {
	rm -f "$KTAP_LOG"
	echo "1..$KTAP_N"
	echo "# passed $((KTAP_N - KTAP_BAD - KTAP_SKIPPED)) failed $KTAP_BAD skipped $KTAP_SKIPPED"
	[ $KTAP_BAD -eq 0 ] || exit 1
	[ $KTAP_N -eq 0 ] && exit 1
	[ $KTAP_SKIPPED -lt $KTAP_N ] || exit $KSFT_SKIP
	exit 0
}

# in_laboratory: does this test run in a laboratory (tests/vm)? There, all programs and modules
# that the tests need must exist.
in_laboratory() { [ -e "${IWT_LABORATORY-/opt/iw_tcp/vm/run.env}" ]; }

# missing WHAT NAME: reports that WHAT was not tested because the program or module NAME is missing:
# in a laboratory as a failure, elsewhere as a skip
missing() {
	if in_laboratory; then not_ok "$1: there is no $2"; else skip "$1" "no $2 here"; fi
}

# missing_all NAME: ends the test, because the program or module NAME is missing: in a laboratory
# the test fails, elsewhere it is skipped
missing_all() {
	in_laboratory || skip_all "no $1 here"
	not_ok "there is no $1"
	ktap_finish
}

# skip_all REASON: ends the test as skipped, because no part of the test can run
skip_all() {
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}
