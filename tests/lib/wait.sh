# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Waits without starting a program for each look. To wait within a network namespace, it runs as
# a program: "wait.sh SECONDS FUNCTION [ARGUMENT...]".

# nap SECONDS: reads with a time limit from a pipe that nobody writes to
exec {NAP}<> <(:)
nap() { read -rt "$1" -u "$NAP" || :; }

# late WHAT: says that WHAT was waited for in vain. README tells what becomes of such a line.
# LATE says so until the next result, or until another wait was not in vain.
# shellcheck disable=SC2034 # ktap.sh looks at it
LATE=
late() {
	LATE=yes
	echo "# time-out: $*" >&2
}

# patience_begin FILE: from now on, waits go by the time in which this machine ran, and not by that
# in which one of its processors stood still. iwt_patient writes it to FILE; what this shell starts
# knows it by IWT_CLOCK.
patience_begin() {
	[ -z "${IWT_CLOCK:-}" ] || return 0
	! iwt_patient -c "$1" 2>/dev/null || export IWT_CLOCK=$1
}

# running: sets RUNNING, the seconds in which this machine ran; where nobody tells, those of the clock
running() {
	{ read -r RUNNING <"${IWT_CLOCK:-}"; } 2>/dev/null || { RUNNING=$SECONDS; return; }
	RUNNING=$((10#$RUNNING / 1000))
}

# busywait SECONDS COMMAND...: waits until COMMAND succeeds
busywait() {
	local seconds=$1 end
	running
	end=$((RUNNING + seconds))
	shift
	until "$@" >/dev/null 2>&1; do
		running
		[ $RUNNING -lt $end ] || { late "$seconds s: $*"; return 1; }
		nap 0.1
	done
	LATE=
}

# tcp PATTERN: does a line of /proc/net/tcp* match? port_is() describes the lines.
tcp() {
	local line lines=() more=()
	mapfile -t lines </proc/net/tcp
	mapfile -t more 2>/dev/null </proc/net/tcp6
	for line in "${lines[@]}" "${more[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $line != $1 ]] || return 0
	done
	return 1
}

# port_is PORT yes|no: does anyone listen? A line is
# "sl: ADDRESS:PORT ADDRESS:PORT STATE ...", in hexadecimal; 0A is LISTEN.
port_is() {
	local port now=no
	printf -v port %04X "$1"
	! tcp "*: *:$port *:0000 0A *" || now=yes
	[ $now = "$2" ]
}

# connections PORT: does any connection from or to PORT exist (01 is ESTABLISHED)?
connections() {
	local port
	printf -v port %04X "$1"
	tcp "*: *:$port *:* 01 *" || tcp "*: *:* *:$port 01 *"
}

no_connections() { ! connections "$1"; }

[ "${BASH_SOURCE[0]}" != "$0" ] || busywait "$@"
