# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Runs the jobs of tests/check. A job is a command whose output has the form of suite.sh's output.
# An INDEX is a job's index into the arrays below. Needs standstill.sh. LOGS is the directory of
# logs and results.

NAMES=() COMMANDS=() LISTS=() ITEMS=()

# job NAME COMMAND ITEM...: defines a job: COMMAND (quoted for the shell), with the ITEMs as
# additional arguments, runs the ITEMs
job() {
	NAMES+=("$1")
	COMMANDS+=("$2")
	shift 2
	LISTS+=("$(printf '%q ' "$@")")
	ITEMS+=($#)
}

# on_host NAME COMMAND...: defines a job on this machine; COMMAND prints TAP
on_host() { job "$1" "host_suite $(printf '%q ' "${@:2}")" "$1"; }

# in_lab NAME LAB SECONDS LIMIT ITEM...: defines a job that runs tests in a laboratory. All tests
# together may take SECONDS, and each test may run for LIMIT seconds without progress. "LAB/N" has
# N virtual processors, "LAB" has two; the variable LAB_CPUS overrides both numbers. (Many
# laboratories run at once: more virtual processors for each real processor would take more time and
# show few more races.) LAB_PIN binds the processors of a User-Mode Linux to real processors, which
# saves a fifth of the time.
in_lab() {
	local name=$1 lab=${2%/*} time=$3 limit=$4 cpus=2
	[ "$lab" = "$2" ] || cpus=${2#*/}
	shift 4
	job "$name" "LAB_PIN=1 LAB_CPUS=${LAB_CPUS:-$cpus} LAB_PARALLEL=${LAB_PARALLEL:-} tests/vm/run --lab $lab --time $time tests/lib/suite.sh -t $limit" "$@"
}

# host_suite COMMAND... NAME: runs COMMAND on this machine as the test NAME
host_suite() {
	local name=${*: -1} status
	tests/vm/deps --host || return
	echo "=== begin $name"
	"${@:1:$#-1}"
	status=$?
	echo "=== end $name: $status"
	return $status
}

# stamp: copies the output of suite.sh, and adds a line "=== at SECONDS-SINCE-1970" after each
# line that marks the beginning or the end of a test. The seconds are from the clock of this
# machine, because the clock of a laboratory may be late, especially when this machine stands still.
stamp() {
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		printf '%s\n' "$line"
		case $line in
		"=== begin "* | "=== end "*) echo "=== at $EPOCHSECONDS" ;;
		esac
	done
}

# run_items INDEX LIST LOG PART: runs the items of LIST (quoted for the shell) with the command of
# the job. Writes the output to the file LOG, and the results (count.awk) to the file PART.
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
	# if no test started, give the reason
	grep -q '^=== begin' "$log" || verdict="${verdict:-no test ran}: $(tail -n 1 "$log")"
	[ -z "$verdict" ] || echo "fail $verdict (see $log)" >>"$part"
}

# excuses INDEX LIST LOG PART: prints the items of LIST that must run once more, and the reasons, in
# the form of excuse.awk; LOG and PART are the files of run_items()
excuses() {
	local list
	eval "list=($2)"
	! grep -q '^fail' "$4" || ITEMS=$(printf '%s\n' "${list[@]}") \
		awk -f tests/lib/excuse.awk file=1 "$STANDSTILL" file=2 "$3" file=3 "$4"
}

# run_job INDEX: runs a job and writes its results to NAME.result. If standstills of the machine can
# explain all failures, writes the items that must run once more, and the reasons, to NAME.excuses.
run_job() {
	local name=${NAMES[$1]} log=$LOGS/${NAMES[$1]}.log part=$LOGS/${NAMES[$1]}.part
	run_items "$1" "${LISTS[$1]}" "$log" "$part"
	excuses "$1" "${LISTS[$1]}" "$log" "$part" >"$LOGS/$name.excuses"
	[ -s "$LOGS/$name.excuses" ] || rm "$LOGS/$name.excuses"
	mv "$part" "$LOGS/$name.result"
}

# forgive LOG PART EXCUSES: prints "excused ITEM: REASON" for each item of EXCUSES that has neither
# failed nor been excused in its repetition, and "forgiven RESULT" for each failure of this item in
# the run before.
# If no item has failed in the repetition, also prints a "forgiven" line for the time limit or the
# gate of the laboratory, and for each kernel message that the gate reported. The files LOG and PART
# have the output and the results of the run before, PART.again has the results of the repetition.
# EXCUSES is text in the form of excuse.awk.
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

# If a test fails during a standstill in each of this many runs, standstills are not the cause.
MOST_TRIES=6

# again INDEX LOG PART EXCUSES [TRY]: runs the items of EXCUSES once more; this is run number TRY
# (2). If standstills can explain all new failures, runs those items again, up to run number
# MOST_TRIES. Writes the results of all items of LOG to PART; the last run of an item counts.
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

# say_once_more NAME RESULTS EXCUSES: prints the items of EXCUSES, which have to run once more, the
# reasons, and the failures in the file RESULTS
say_once_more() {
	local item why
	while IFS=$'\t' read -r item why; do
		say "$1: $item has to run once more, alone, for it failed and $why"
	done <<<"$3"
	sed -n 's/^fail /    had failed  /p' "$2"
}

# second_tries INDEX...: runs the items in the files NAME.excuses of these jobs once more, one job
# at a time. The caller must wait first until all jobs have ended.
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

# logs NAME: prints the logs of a job, one for each try
logs() {
	local log=$LOGS/$1.log
	while [ -e "$log" ]; do echo "$log"; log+=.again; done
}

# explain LOG: prints the failures, up to 25 lines of the test's output about each failure (120
# lines in all), and the messages of the laboratory's gate: up to 31 lines after each message (60
# lines in all), and all lines of the kernel's first bad message (machine.sh indents these lines).
# The output must be sufficient to find the fault, because a reader of results from another machine
# seldom has the logs.
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
	# lines by which a script (perftest.sh) or a program reports that it tried something twice
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

# the_end: prints the end of the output: for each job, all failures and the failures that were
# excused; for each job that has failed, also the first bad message of the kernel in each of its
# runs
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

# last_line: prints the numbers of results; fails if a test failed or if no test passed
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
