# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs the jobs of tests/check: commands whose output has the form of suite.sh's output.
# Needs standstill.sh. LOGS is the directory of logs and results.

NAMES=() COMMANDS=() LISTS=() ITEMS=()

# job NAME COMMAND ITEM...: COMMAND (quoted for the shell) runs the ITEMs that follow it
job() {
	NAMES+=("$1")
	COMMANDS+=("$2")
	shift 2
	LISTS+=("$(printf '%q ' "$@")")
	ITEMS+=($#)
}

# on_host NAME COMMAND...: a job on this machine; COMMAND prints TAP
on_host() { job "$1" "host_suite $(printf '%q ' "${@:2}")" "$1"; }

# in_lab NAME LAB SECONDS LIMIT ITEM...: tests in a laboratory, at most SECONDS all together and
# LIMIT each; "LAB/1" has one processor, other laboratories have two. With many laboratories at
# once, more virtual processors for each real one take more time and show few more races.
# Processors of a User-Mode Linux are pinned (LAB_PIN), which takes a fifth less time.
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

# stamp: copies the output of suite.sh, with a line "=== at SECONDS-SINCE-1970" behind each line
# that begins or ends a test. It uses the clock of this machine, because the clock of a
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
	# If no test began, say why
	grep -q '^=== begin' "$log" || verdict="${verdict:-no test ran}: $(tail -n 1 "$log")"
	[ -z "$verdict" ] || echo "fail $verdict (see $log)" >>"$part"
}

# once_more INDEX ITEMS LOG PART TRIES EXCUSES: runs again those of ITEMS items that failed while
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

# settle INDEX ITEMS LOG PART TRIES: runs once more the items that failed while this machine
# stood still. An item that fails again has failed, unless it failed during another standstill
# and TRIES are left.
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

# explain LOG: prints what failed, what the test printed about it, and what the gate of the
# laboratory found. (The reader of a result on another machine seldom has its logs.)
explain() {
	awk '{ sub(/\r$/, "") }
		!/^(not ok |#)/ { said = 0 }
		/^not ok / { said = 26 }
		/^vm: gate: / { found = 31 }
		(said-- > 0 && told++ < 60) || (found-- > 0 && more++ < 40) { print "    " $0 }' "$1"
}

# tell NAME: prints the result of a job
tell() {
	local result=$LOGS/$1.result log=$LOGS/$1.log logs
	say "$1: $(grep -c ^pass "$result") passed, $(grep -c ^fail "$result") failed, $(grep -c ^skip "$result") skipped ($(tail -n 1 "$LOGS/$1.time"))"
	sed -n 's/^fail /    FAILED  /p; s/^excused /    excused /p' "$result"
	# What lib/pair.sh and programs tried twice
	logs=("$log")
	while [ -e "$log.again" ]; do log+=.again; logs+=("$log"); done
	cat "${logs[@]}" | sed -n 's/\r$//; s/^# once more: /    twice   /p'
	! grep -q '^fail' "$result" || explain "$log"
	awk -f tests/lib/skips.awk "$result" | sed 's/^/    skipped /'
}

count() { cat "$LOGS"/*.result 2>/dev/null | grep -c "^$1"; }

# last_line: prints the sums; fails if something has failed or nothing has passed
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
