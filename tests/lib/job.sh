# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs the jobs of tests/check: commands whose output is that of suite.sh.
# Needs standstill.sh. LOGS is where logs and results go.

NAMES=() COMMANDS=() LISTS=() ITEMS=()

# job NAME COMMAND ITEM...: COMMAND (quoted for the shell) runs the ITEMs behind it
job() {
	NAMES+=("$1")
	COMMANDS+=("$2")
	shift 2
	LISTS+=("$(printf '%q ' "$@")")
	ITEMS+=($#)
}

# on_host NAME COMMAND...: prints TAP on this machine
on_host() { job "$1" "host_suite $(printf '%q ' "${@:2}")" "$1"; }

# in_lab NAME LAB SECONDS LIMIT ITEM...: tests in a laboratory, at most SECONDS
# all together and LIMIT each; in "LAB/1" with one processor. Several for each
# of few real ones cost more time than they show races, in all labs at once.
# Those of a User-Mode Linux stay where they are, which takes a fifth less time.
in_lab() {
	local name=$1 lab=${2%/*} time=$3 limit=$4 cpus=2
	[ "$lab" = "$2" ] || cpus=${2#*/}
	shift 4
	job "$name" "LAB_PIN=1 LAB_CPUS=${LAB_CPUS:-$cpus} tests/vm/run --lab $lab --time $time tests/lib/suite.sh -t $limit" "$@"
}

# host_suite COMMAND... NAME
host_suite() {
	local name=${*: -1} status
	tests/vm/deps --host || return
	echo "=== begin $name"
	"${@:1:$#-1}"
	status=$?
	echo "=== end $name: $status"
	return $status
}

# stamp: passes the output of suite.sh on, with a line "=== at SECONDS-SINCE-1970"
# behind each that begins or ends a test, by the clock of this machine: that of a
# laboratory may be late, above all when this machine stands still.
stamp() {
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		printf '%s\n' "$line"
		case $line in
		"=== begin "* | "=== end "*) echo "=== at $EPOCHSECONDS" ;;
		esac
	done
}

# run_items INDEX LIST LOG PART: runs the items of LIST, counts their results in PART
run_items() {
	local name=${NAMES[$1]} list=$2 log=$3 part=$4 status verdict count
	eval "count=($list)"
	{
		TIMEFORMAT='%0R s, %0U+%0S s of processor time'
		time eval "${COMMANDS[$1]} $list" 2>&1 </dev/null | stamp >"$log"
		status=${PIPESTATUS[0]}
	} 2>"$LOGS/$name.time"
	awk -v items="${#count[@]}" -f tests/lib/count.awk "$log" >"$part"
	case $status in
	0) verdict='' ;;
	99) verdict="the gate of the lab" ;;
	124) verdict="the time of the lab was over" ;;
	*) verdict="exit status $status"
		! grep -q '^fail' "$part" || verdict='' ;;
	esac
	# it did not come to a test: say why
	grep -q '^=== begin' "$log" || verdict="${verdict:-no test ran}: $(tail -n 1 "$log")"
	[ -z "$verdict" ] || echo "fail $verdict (see $log)" >>"$part"
}

# once_more INDEX ITEMS LOG PART TRIES EXCUSES: of a run of ITEMS items, those that failed while
# this machine stood still (EXCUSES: lines of excuse.awk); leaves the results of all in PART.
once_more() {
	local name=${NAMES[$1]} log=$3 part=$4 items=() item why
	mapfile -t items < <(cut -f 1 <<<"$6")
	while IFS=$'\t' read -r item why; do
		say "$name: $item once more, for it failed and $why"
	done <<<"$6"
	sed -n 's/^fail /    had failed  /p' "$part"
	explain "$log"
	run_items "$1" "$(printf '%q ' "${items[@]}")" "$log.again" "$part.again"
	settle "$1" ${#items[@]} "$log.again" "$part.again" $(($5 - 1))
	WITHOUT=$(printf '%s\n' "${items[@]}") awk -v items="$2" -f tests/lib/count.awk "$log" >"$part"
	cat "$part.again" >>"$part"
	while IFS=$'\t' read -r item why; do
		grep -qF -e "fail $item: " -e "excused $item: " "$part.again" || echo "excused $item: $why" >>"$part"
	done <<<"$6"
	rm -f "$part.again"
}

# settle INDEX ITEMS LOG PART TRIES: runs once more what failed while this machine stood still.
# What fails again has failed, unless it did beside another standstill, and TRIES are left.
settle() {
	local excuses
	[ "$5" -gt 0 ] || return 0
	excuses=$(awk -f tests/lib/excuse.awk file=1 "$STANDSTILL" file=2 "$3" file=3 "$4")
	[ -z "$excuses" ] || once_more "$@" "$excuses"
}

# run_job INDEX: leaves its results in NAME.result
run_job() {
	local name=${NAMES[$1]} log=$LOGS/${NAMES[$1]}.log part=$LOGS/${NAMES[$1]}.part
	run_items "$1" "${LISTS[$1]}" "$log" "$part"
	settle "$1" "${ITEMS[$1]}" "$log" "$part" 2
	mv "$part" "$LOGS/$name.result"
}

# explain LOG: what failed, with what the test had to say about it, and what the gate of
# the laboratory found. The logs of other machines are seldom at hand.
explain() {
	awk '{ sub(/\r$/, "") }
		!/^(not ok |#)/ { said = 0 }
		/^not ok / { said = 26 }
		/^vm: gate: / { found = 11 }
		(said-- > 0 && told++ < 60) || (found-- > 0 && more++ < 30) { print "    " $0 }' "$1"
}

# tell NAME: what came of a job
tell() {
	local result=$LOGS/$1.result log=$LOGS/$1.log logs
	say "$1: $(grep -c ^pass "$result") passed, $(grep -c ^fail "$result") failed, $(grep -c ^skip "$result") skipped ($(tail -n 1 "$LOGS/$1.time"))"
	sed -n 's/^fail /    FAILED  /p; s/^excused /    excused /p' "$result"
	# what was tried twice (lib/pair.sh, and programs)
	logs=("$log")
	while [ -e "$log.again" ]; do log+=.again; logs+=("$log"); done
	cat "${logs[@]}" | sed -n 's/\r$//; s/^# once more: /    twice   /p'
	! grep -q '^fail' "$result" || explain "$log"
	awk -f tests/lib/skips.awk "$result" | sed 's/^/    skipped /'
}

count() { cat "$LOGS"/*.result 2>/dev/null | grep -c "^$1"; }

# last_line: all results; fails unless nothing has failed, and something passed
last_line() {
	local passed failed skipped excused
	passed=$(count pass) failed=$(count fail) skipped=$(count skip) excused=$(count excused)
	[ "$passed" -gt 0 ] || failed=$((failed + 1))
	printf '%s' "$passed passed, $failed failed"
	[ "$skipped" -eq 0 ] || printf ', %s skipped' "$skipped"
	[ "$excused" -eq 0 ] || printf ', %s excused' "$excused"
	echo
	[ "$failed" -eq 0 ]
}
