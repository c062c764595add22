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

# All tests of a job in a laboratory together may take JOB_TIME seconds by the clock. If several jobs
# run on few processors, the time that a job takes says little about the job. So this limit is long:
# it only ends machines that hang, and tests that make progress for ever.
JOB_TIME=3000

# in_lab NAME LAB LIMIT ITEM...: defines a job that runs tests in a laboratory. Each test may run for
# LIMIT seconds without progress, and all tests together for JOB_TIME seconds. "LAB/N" has
# N virtual processors, "LAB" has two; the variable LAB_CPUS overrides both numbers. (Many
# laboratories run at once: more virtual processors for each real processor would take more time and
# show few more races.) LAB_PIN binds the processors of a User-Mode Linux to real processors, which
# saves a fifth of the time.
in_lab() {
	local name=$1 lab=${2%/*} limit=$3 cpus=2
	[ "$lab" = "$2" ] || cpus=${2#*/}
	shift 3
	job "$name" "LAB_PIN=1 LAB_CPUS=${LAB_CPUS:-$cpus} LAB_PARALLEL=${LAB_PARALLEL:-} tests/vm/run --lab $lab --time $JOB_TIME tests/lib/suite.sh -t $limit" "$@"
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

# log_of NAME RUN: prints the name of the log of a job's run. Run number 1 runs all items of the
# job; each later run repeats some of them. Two files belong to the file LOG: LOG.part has the
# results of this run (count.awk). LOG.excuses has the items that must run once more, and the
# reasons (excuse.awk); it exists only if standstills of the machine can explain all failures of
# the run.
log_of() { if [ "$2" = 1 ]; then echo "$LOGS/$1.log"; else echo "$LOGS/$1.log.$2"; fi; }

# run_items INDEX LIST LOG: runs the items of LIST (quoted for the shell) with the command of the
# job, and writes LOG, LOG.part and LOG.excuses
run_items() {
	local name=${NAMES[$1]} list=$2 log=$3 part=$3.part status verdict items
	eval "items=($list)"
	{
		TIMEFORMAT='%0R s, %0U+%0S s of processor time'
		time eval "${COMMANDS[$1]} $list" 2>&1 </dev/null | stamp >"$log"
		status=${PIPESTATUS[0]}
	} 2>"$LOGS/$name.time"
	awk -v items="${#items[@]}" -v late=$((status == 124)) -f tests/lib/count.awk "$log" >"$part"
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
	! grep -q '^fail' "$part" || ITEMS=$(printf '%s\n' "${items[@]}") \
		awk -f tests/lib/excuse.awk file=1 "$STANDSTILL" file=2 "$log" file=3 "$part" >"$log.excuses"
	[ -s "$log.excuses" ] || rm -f "$log.excuses"
}

# run_job INDEX: runs a job for the first time, and writes its results to NAME.result
run_job() {
	local name=${NAMES[$1]}
	run_items "$1" "${LISTS[$1]}" "$(log_of "$name" 1)"
	results "$name" 1 >"$LOGS/$name.result"
}

# results NAME RUN: prints the results of this run of a job. If items have run once more, prints
# the results of their last run instead.
results() {
	local log again
	log=$(log_of "$1" "$2") again=$(log_of "$1" $(($2 + 1)))
	if [ ! -e "$again" ]; then
		cat "$log.part"
		return
	fi
	results "$1" $(($2 + 1)) >"$again.results"
	WITHOUT=$(cut -f 1 "$log.excuses") awk -f tests/lib/count.awk "$log"
	cat "$again.results"
	forgive "$log" "$again.results"
	rm "$again.results"
}

# forgive LOG RESULTS: RESULTS is the file with the results of the repetition of the items in
# LOG.excuses. For each of these items that has neither failed nor been excused in RESULTS, prints
# "excused ITEM: REASON", and "forgiven RESULT" for each failure of this item in LOG.part. If no
# item has failed in the repetition, also prints a "forgiven" line for the time limit or the gate
# of the laboratory, and for each kernel message that the gate reported.
forgive() {
	local item why what
	while IFS=$'\t' read -r item why; do
		! grep -qF -e "fail $item: " -e "excused $item: " "$2" || continue
		echo "excused $item: $why"
		while IFS= read -r what; do
			[[ $what != "fail $item: "* ]] || echo "forgiven ${what#fail }"
		done <"$1.part"
	done <"$1.excuses"
	! grep -q '^fail' "$2" || return 0
	sed -n 's/^fail \(the [gt].*\)/forgiven \1/p' "$1.part"
	! grep -q '^fail the gate' "$1.part" ||
		sed -n '/^vm: gate: kernel messages/,/^vm: gate: the/{/^vm: /!s/^/forgiven /p}' "$1" | tr -d '\r'
}

# A test that times out during a standstill may be good, however often this happens; only a run
# without a standstill shows that the test hangs. So the number of runs has no limit. But on a
# machine that stands still in each run, a test that hangs would be repeated for ever. So no
# repetition begins after all repetitions together have taken AGAIN_TIME seconds. (check --long
# has a longer time, because its tests are longer.)
AGAIN_TIME=1800

# second_tries INDEX...: runs the items in the files LOG.excuses of these jobs once more, one job
# at a time, until each item has passed, or has failed in a run without a standstill. The caller
# must wait first until all jobs have ended. No job is repeated for the second time before all
# jobs have been repeated once, and so on, so a test that hangs leaves time for the others.
second_tries() {
	local i run=1 left=("$@") more end=$((SECONDS + AGAIN_TIME))
	while [ ${#left[@]} -gt 0 ]; do
		more=()
		for i in "${left[@]}"; do
			! again "$i" $run $end || more+=("$i")
		done
		left=("${more[@]}")
		run=$((run + 1))
	done
}

# again INDEX RUN END: repeats the items that standstills excused in this run of the job, unless
# the time END (a value of SECONDS) has come. Succeeds if items must run once more after this;
# otherwise writes and prints the final results of the job.
again() {
	local name=${NAMES[$1]} log next items
	log=$(log_of "$name" "$2") next=$(log_of "$name" $(($2 + 1)))
	[ -e "$log.excuses" ] || return 1
	mapfile -t items < <(cut -f 1 "$log.excuses")
	if [ $SECONDS -ge "$3" ]; then
		rm "$log.excuses"
		sed -i "s/^fail .*/&; a processor stood still in each run ($2 so far), but the $AGAIN_TIME s for repetitions are over/" "$log.part"
	else
		say "$name: once more, alone: $(printf '%s\n' "${items[@]}" | paste -sd, | sed 's/,/, /g')"
		run_items "$1" "$(printf '%q ' "${items[@]}")" "$next"
		if [ -e "$next.excuses" ]; then
			say_once_more "$name" "$next"
			return 0
		fi
	fi
	results "$name" 1 >"$LOGS/$name.result"
	tell "$name"
	return 1
}

# say_once_more NAME LOG: prints the items of LOG.excuses, which have to run once more, the
# reasons, and the failures of this run
say_once_more() {
	local item why
	while IFS=$'\t' read -r item why; do
		say "$1: $item has to run once more, alone, for it failed and $why"
	done <"$2.excuses"
	sed -n 's/^fail /    had failed  /p' "$2.part"
}

# logs NAME: prints the logs of a job, one for each run
logs() {
	local run=1
	while [ -e "$(log_of "$1" $run)" ]; do log_of "$1" $run; run=$((run + 1)); done
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

# tell NAME: prints the result of a job. A test, even one that passes, can print three kinds of
# lines for the output of make check: "# once more: TEXT" if the test or its program has tried
# something twice; "# forgiven: TEXT" if the test has accepted a fault of a program (pair.sh);
# "# report: TEXT" for other results.
tell() {
	local result=$LOGS/$1.result logs last
	mapfile -t logs < <(logs "$1")
	last=${logs[-1]}
	say "$1: $(grep -c ^pass "$result") passed, $(grep -c ^fail "$result") failed, $(grep -c ^skip "$result") skipped ($(tail -n 1 "$LOGS/$1.time"))"
	sed -n 's/\r$//; s/^# once more: /    twice   /p' "${logs[@]}"
	if [ -e "$last.excuses" ]; then
		say_once_more "$1" "$last"
		explain "$last"
	else
		tell_verdicts "$result"
		! grep -q '^fail' "$result" || explain "$last"
		sed -n 's/^report [^:]*: /    report  /p' "$result"
	fi
	awk -f tests/lib/skips.awk "$result" | sed 's/^/    skipped /'
}

tell_verdicts() { sed -n 's/^fail /    FAILED  /p; s/^excused /    excused /p; s/^forgiven /    forgiven  /p' "$1"; }

# the_end: prints the end of the output: for each job, all failures and the failures that were
# excused or forgiven; for each job that has failed, also the first bad message of the kernel in
# each of its runs
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
