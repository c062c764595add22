# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions that wait for conditions. The functions that check ports start no program, because a
# wait repeats a check many times. This file can also be run as a program, to wait inside a network
# namespace: "wait.sh SECONDS FUNCTION [ARGUMENT...]" waits until FUNCTION succeeds.

# nap SECONDS: sleeps, without starting a program: reads, with a time limit, from an empty pipe
exec {NAP}<> <(:)
nap() { read -rt "$1" -u "$NAP" || :; }

# late WHAT: prints that a wait for WHAT timed out (tests/README describes how this line is used),
# and sets LATE. LATE stays set until the next result, or until a later wait succeeds.
# shellcheck disable=SC2034 # ktap.sh uses LATE
LATE=
late() {
	LATE=yes
	echo "# time-out: $*" >&2
}

# patience_begin FILE: from now on, waits do not count the time during which a processor of this
# machine stood still. iwt_patient writes the time that counts to FILE. The variable IWT_CLOCK
# passes the name of the file to the programs that this shell starts. Does nothing if IWT_CLOCK is
# set already. Without iwt_patient, waits go on counting all time.
patience_begin() {
	[ -z "${IWT_CLOCK:-}" ] || return 0
	! iwt_patient -c "$1" 2>/dev/null || export IWT_CLOCK=$1
}

# running: sets RUNNING to the number of seconds during which this machine ran. Without the file of
# patience_begin, RUNNING becomes the shell's SECONDS, which counts standstills, too.
running() {
	{ read -r RUNNING <"${IWT_CLOCK:-}"; } 2>/dev/null || { RUNNING=$SECONDS; return; }
	RUNNING=$((10#$RUNNING / 1000))
}

# busywait SECONDS COMMAND...: runs COMMAND again and again until it succeeds; after SECONDS, calls
# late() and fails
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

# count_to SECONDS NUMBER COMMAND...: waits until the number that COMMAND prints is at least NUMBER;
# if this number does not grow for SECONDS, calls late() and fails. (A slow machine may need any time
# to reach NUMBER.)
count_to() {
	local seconds=$1 most=$2 end last='' now
	shift 2
	running
	end=$((RUNNING + seconds))
	until now=$("$@") && [ "$now" -ge "$most" ]; do
		running
		if [ -z "$last" ] || [ "${now:-0}" -gt "$last" ]; then
			last=${now:-0} end=$((RUNNING + seconds))
		fi
		[ $RUNNING -lt $end ] || { late "$seconds s: $* stays $last"; return 1; }
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

# port_is PORT yes: succeeds if there is a TCP listener on PORT
# port_is PORT no: succeeds if there is no TCP listener on PORT
# A line of /proc/net/tcp is "sl: ADDRESS:PORT ADDRESS:PORT STATE ...", in hexadecimal; the state 0A
# is LISTEN.
port_is() {
	local port now=no
	printf -v port %04X "$1"
	! tcp "*: *:$port *:0000 0A *" || now=yes
	[ $now = "$2" ]
}

# connections PORT: is there an established connection (state 01) from or to PORT?
connections() {
	local port
	printf -v port %04X "$1"
	tcp "*: *:$port *:* 01 *" || tcp "*: *:* *:$port 01 *"
}

no_connections() { ! connections "$1"; }

[ "${BASH_SOURCE[0]}" != "$0" ] || busywait "$@"
