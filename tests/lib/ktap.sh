# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reports in TAP. A test calls ok, not_ok, skip, check or subtests, and ends
# with ktap_finish.

KTAP_N=0 KTAP_BAD=0 KTAP_SKIPPED=0
KSFT_SKIP=4
KTAP_LOG=$(mktemp "${TMPDIR:-/tmp}/iwt-tap.XXXXXX")

ktap_begin() { echo "TAP version 13"; }

ok() {
	KTAP_N=$((KTAP_N + 1))
	echo "ok $KTAP_N - $*"
}

not_ok() {
	KTAP_N=$((KTAP_N + 1)) KTAP_BAD=$((KTAP_BAD + 1))
	echo "not ok $KTAP_N - $*"
}

# skip WHAT REASON
skip() {
	KTAP_N=$((KTAP_N + 1)) KTAP_SKIPPED=$((KTAP_SKIPPED + 1))
	echo "ok $KTAP_N - $1 # SKIP $2"
}

diag() { sed 's/^/# /'; }

# check WHAT COMMAND...: ok when COMMAND succeeds; its output is shown otherwise
check() {
	local what=$1
	shift
	if "$@" >"$KTAP_LOG" 2>&1; then
		ok "$what"
		return 0
	fi
	not_ok "$what"
	echo "# failed: $*"
	tail -n 30 "$KTAP_LOG" | diag
	return 1
}

# refuse WHAT COMMAND...: ok when COMMAND fails by itself (not by a time limit)
refuse() {
	local what=$1 rc
	shift
	"$@" >"$KTAP_LOG" 2>&1
	rc=$?
	if [ $rc -ne 0 ] && [ $rc -ne 124 ] && [ $rc -lt 128 ]; then
		ok "$what"
		return 0
	fi
	not_ok "$what (status $rc)"
	tail -n 30 "$KTAP_LOG" | diag
	return 1
}

# subtests PREFIX FILE: the results in FILE (TAP of another program) as ours.
# Fails when FILE holds no plan or one that does not match.
subtests() {
	local prefix=$1 file=$2 line plan='' seen=0 diags=()
	while IFS= read -r line; do
		case $line in
		'ok '*' # SKIP '*)
			line=${line#* - }
			skip "$prefix: ${line%% # SKIP *}" "${line##* # SKIP }"
			seen=$((seen + 1)) ;;
		'ok '*) ok "$prefix: ${line#* - }"; seen=$((seen + 1)) ;;
		'not ok '*) not_ok "$prefix: ${line#* - }"; seen=$((seen + 1)) ;;
		1..*) plan=${line#1..} ;;
		'#'*) echo "$line" ;;
		*) diags+=("$line") ;;
		esac
	done <"$file"
	if [ "$plan" != "$seen" ] || [ "$seen" -eq 0 ]; then
		not_ok "$prefix: ran to its end (plan ${plan:-none}, $seen results)"
		[ ${#diags[@]} -eq 0 ] || printf '# %s\n' "${diags[@]}" | tail -n 20
	fi
}

ktap_finish() {
	rm -f "$KTAP_LOG"
	echo "1..$KTAP_N"
	echo "# passed $((KTAP_N - KTAP_BAD - KTAP_SKIPPED)) failed $KTAP_BAD skipped $KTAP_SKIPPED"
	[ $KTAP_BAD -eq 0 ] || exit 1
	[ $KTAP_N -eq 0 ] && exit 1
	[ $KTAP_SKIPPED -lt $KTAP_N ] || exit $KSFT_SKIP
	exit 0
}

# A test that cannot run at all.
skip_all() {
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}
