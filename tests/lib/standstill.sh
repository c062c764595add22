# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Records when a processor of this machine stands still. A processor of a virtual machine may
# stand still, together with all tasks bound to this processor, for longer than the time limits of
# protocols and tests. To notice this, one process on each processor reads the clock twice a second.

STANDSTILL=	# file of lines "END PROCESSOR SECONDS"; END: seconds since 1970; SECONDS: the length
WATCHERS=()

# uptime_cs: prints how many hundredths of a second have passed since this machine was booted
uptime_cs() {
	local up
	read -r up _ </proc/uptime
	echo "${up/./}"
}

# watch_processor NUMBER: writes a line for each standstill of 3 seconds or more of this processor
watch_processor() {
	local never last now
	taskset -cp "$1" "$BASHPID" >/dev/null 2>&1 || return
	exec {never}<> <(:)
	last=$(uptime_cs)
	while [ -d "/proc/$$" ]; do
		read -rt 0.5 -u "$never" _
		now=$(uptime_cs)
		[ $((now - last)) -lt 300 ] || echo "$EPOCHSECONDS $1 $(((now - last) / 100))" >>"$STANDSTILL"
		last=$now
	done
}

# standstill_watch FILE: starts a process on each processor, which writes to FILE
# standstill_end: ends these processes
standstill_watch() {
	local cpu
	STANDSTILL=$1
	: >"$STANDSTILL"
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		watch_processor "$cpu" </dev/null >/dev/null 2>&1 &
		WATCHERS+=($!)
	done
}

standstill_end() { [ ${#WATCHERS[@]} -eq 0 ] || kill "${WATCHERS[@]}" 2>/dev/null; WATCHERS=(); }
