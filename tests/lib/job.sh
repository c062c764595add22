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
	job "$name" "LAB_PIN=1 LAB_CPUS=${LAB_CPUS:-$cpus} LAB_PARALLEL=${LAB_PARALLEL:-} tests/vm/run --lab $lab --time $time tests/lib/suite.sh -t $limit" "$@"
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
	awk -v items="${#count[@]}" -v late=$((status == 124)) -f tests/lib/count.awk "$log" >"$part"
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

# excuses INDEX LIST LOG PART: the items of LIST that have to run once more, as excuse.awk says
excuses() {
	local list
	eval "list=($2)"
	! grep -q '^fail' "$4" || ITEMS=$(printf '%s\n' "${list[@]}") \
		awk -f tests/lib/excuse.awk file=1 "$STANDSTILL" file=2 "$3" file=3 "$4"
}

# run_job INDEX: leaves its results in NAME.result. If all that failed may be excused, NAME.excuses
# says what has to run once more, and why.
run_job() {
	local name=${NAMES[$1]} log=$LOGS/${NAMES[$1]}.log part=$LOGS/${NAMES[$1]}.part
	run_items "$1" "${LISTS[$1]}" "$log" "$part"
	excuses "$1" "${LISTS[$1]}" "$log" "$part" >"$LOGS/$name.excuses"
	[ -s "$LOGS/$name.excuses" ] || rm "$LOGS/$name.excuses"
	mv "$part" "$LOGS/$name.result"
}

# forgive LOG PART EXCUSES: what failed before, and has passed now (its results are in PART.again).
# Each failed assertion is named.
forgive() {
	local item why what
	while IFS=$'\t' read -r item why; do
		! grep -qF -e "fail $item: " -e "excused $item: " "$2.again" || continue
		echo "excused $item: $why"
		while IFS= read -r what; do
			[[ $what != "fail $item: "* ]] || echo "forgiven ${what#fail }"
		done <"$2"
	done <<<"$3"
	grep -q '^fail' "$2.again" || sed -n 's/^fail \(the [gt].*\)/forgiven \1/p' "$2"
	grep -q '^fail' "$2.again" || ! grep -q '^fail the gate' "$2" ||
		sed -n '/^vm: gate: kernel messages/,/^vm: gate: the/{/^vm: /!s/^/forgiven /p}' "$1" | tr -d '\r'
}

# A test that fails beside a standstill each time it runs alone has another fault.
MOST_TRIES=6

# again INDEX LOG PART EXCUSES [TRY]: runs once more what may be excused. What fails again has
# failed, unless all of it may be excused again. Leaves the results of all items of LOG in PART.
again() {
	local try=${5:-2} name=${NAMES[$1]} log=$2 part=$3 items list more
	mapfile -t items < <(cut -f 1 <<<"$4")
	list=$(printf '%q ' "${items[@]}")
	run_items "$1" "$list" "$log.again" "$part.again"
	more=$(excuses "$1" "$list" "$log.again" "$part.again")
	if [ -n "$more" ] && [ "$try" -lt $MOST_TRIES ]; then
		say_once_more "$name" "$part.again" "$more"
		again "$1" "$log.again" "$part.again" "$more" $((try + 1))
	fi
	{
		WITHOUT=$(printf '%s\n' "${items[@]}") awk -f tests/lib/count.awk "$log"
		cat "$part.again"
		forgive "$log" "$part" "$4"
	} >"$part.new"
	mv "$part.new" "$part"
	rm -f "$part.again"
}

# say_once_more NAME RESULTS EXCUSES
say_once_more() {
	local item why
	while IFS=$'\t' read -r item why; do
		say "$1: $item has to run once more, alone, for it failed and $why"
	done <<<"$3"
	sed -n 's/^fail /    had failed  /p' "$2"
}

# second_tries INDEX...: runs once more, alone, what may be excused of these jobs; when all jobs
# have ended
second_tries() {
	local i name
	for i; do
		name=${NAMES[$i]}
		[ -s "$LOGS/$name.excuses" ] || continue
		say "$name: once more, alone: $(cut -f 1 "$LOGS/$name.excuses" | paste -sd, | sed 's/,/, /g')"
		again "$i" "$LOGS/$name.log" "$LOGS/$name.result" "$(cat "$LOGS/$name.excuses")"
		rm "$LOGS/$name.excuses"
		tell "$name"
	done
}

# logs NAME: the logs of a job, of each try
logs() {
	local log=$LOGS/$1.log
	while [ -e "$log" ]; do echo "$log"; log+=.again; done
}

# explain LOG: prints what failed, what the test printed about it, and what the gate of the
# laboratory found, with the kernel's first complaint as a whole (machine.sh indents it). The reader
# of a result on another machine seldom has its logs.
explain() {
	awk '{ sub(/\r$/, "") }
		!/^(not ok |#)/ { said = 0 }
		/^not ok / { said = 26 }
		/^vm: gate: / { found = 31; whole = /the first of them/; print "    " $0; next }
		whole && /^  / { print "    " $0; next }
		(said-- > 0 && told++ < 120) || (found-- > 0 && more++ < 60) { print "    " $0 }' "$1"
}

# tell NAME: prints the result of a job
tell() {
	local result=$LOGS/$1.result logs last
	mapfile -t logs < <(logs "$1")
	last=${logs[-1]}
	say "$1: $(grep -c ^pass "$result") passed, $(grep -c ^fail "$result") failed, $(grep -c ^skip "$result") skipped ($(tail -n 1 "$LOGS/$1.time"))"
	# What lib/pair.sh and programs tried twice
	sed -n 's/\r$//; s/^# once more: /    twice   /p' "${logs[@]}"
	if [ -s "$LOGS/$1.excuses" ]; then
		say_once_more "$1" "$result" "$(cat "$LOGS/$1.excuses")"
		explain "$last"
	else
		tell_verdicts "$result"
		! grep -q '^fail' "$result" || explain "$last"
	fi
	awk -f tests/lib/skips.awk "$result" | sed 's/^/    skipped /'
}

tell_verdicts() { sed -n 's/^fail /    FAILED  /p; s/^excused /    excused /p; s/^forgiven /    forgiven  /p' "$1"; }

# the_end: what a reader of the end of the output needs: all that failed, each kernel's first
# complaint as a whole, and what was forgiven
the_end() {
	local name log
	for name in "${NAMES[@]}"; do
		[ -e "$LOGS/$name.result" ] && grep -qE '^(fail|forgiven)' "$LOGS/$name.result" || continue
		echo "$name:"
		tell_verdicts "$LOGS/$name.result"
		grep -q '^fail' "$LOGS/$name.result" || continue
		while IFS= read -r log; do
			awk '{ sub(/\r$/, "") }
				/^vm: gate: / { whole = /the first of them/; print "    " $0; next }
				whole && /^  / { print "    " $0 }' "$log"
		done < <(logs "$name")
	done
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
