# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Waits for conditions without starting a program for each check. It can also be run as a program,
# to wait inside a network namespace: "wait.sh SECONDS FUNCTION [ARGUMENT...]".

# nap SECONDS: reads with a time limit from a pipe that nobody writes to
exec {NAP}<> <(:)
nap() { read -rt "$1" -u "$NAP" || :; }

# late WHAT: prints that a wait for WHAT timed out (README describes how this line is used), and
# sets LATE. LATE stays set until the next result, or until a later wait succeeds.
# shellcheck disable=SC2034 # ktap.sh looks at it
LATE=
late() {
	LATE=yes
	echo "# time-out: $*" >&2
}

# patience_begin FILE: from now on, waits are measured by the time during which this machine ran;
# the time during which one of its processors stood still does not count. iwt_patient writes this
# time to FILE; IWT_CLOCK tells programs that this shell starts the name of the file.
patience_begin() {
	[ -z "${IWT_CLOCK:-}" ] || return 0
	! iwt_patient -c "$1" 2>/dev/null || export IWT_CLOCK=$1
}

# running: sets RUNNING to the number of seconds during which this machine ran; without the file
# of iwt_patient, to the shell's SECONDS
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

# tcp PATTERN: does a line of /proc/net/tcp* match PATTERN? port_is() describes the lines.
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

# port_is PORT yes|no: is there a listener on PORT, or is there none? A line of /proc/net/tcp is
# "sl: ADDRESS:PORT ADDRESS:PORT STATE ...", in hexadecimal; the state 0A is LISTEN.
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
