# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Records kernel trace events in a separate trace instance, the directory $TRACE. Needs ktap.sh and
# net.sh.

# trace_events EVENT...: makes the trace instance, with all events disabled. Skips the test if the
# kernel lacks one of the EVENTs (SYSTEM/NAME), or has no trace instances.
trace_events() {
	local event
	for event; do
		[ -w "/sys/kernel/tracing/events/$event/enable" ] || skip_all "no trace of $event here"
	done
	TRACE=/sys/kernel/tracing/instances/iwt$$
	mkdir $TRACE || skip_all "no trace of our own here"
	trap 'cleanup; echo 0 >$TRACE/events/enable; rmdir $TRACE' EXIT
}

# traced EVENT... -- COMMAND...: runs COMMAND while these events are enabled, and returns its exit
# status; the recorded events are in $TRACE/trace
traced() {
	local events=() event rc
	while [ "$1" != -- ]; do events+=("$1"); shift; done
	shift
	echo >$TRACE/trace
	for event in "${events[@]}"; do echo 1 >"$TRACE/events/$event/enable"; done
	"$@"
	rc=$?
	echo 0 >$TRACE/events/enable
	return $rc
}
