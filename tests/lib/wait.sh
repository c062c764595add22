# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Waiting without a program for each look. As a program of its own, within a
# network namespace: "wait.sh SECONDS FUNCTION [ARGUMENT...]".

# What nobody writes to is what to read from for a while.
exec {NAP}<> <(:)
nap() { read -rt "$1" -u "$NAP" || :; }

# busywait SECONDS COMMAND...: until COMMAND succeeds
busywait() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		nap 0.1
	done
}

# tcp PATTERN: is there such a socket in this namespace? See below.
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

# connections PORT: does any from or to it exist (01 is ESTABLISHED)?
connections() {
	local port
	printf -v port %04X "$1"
	tcp "*: *:$port *:* 01 *" || tcp "*: *:* *:$port 01 *"
}

no_connections() { ! connections "$1"; }

[ "${BASH_SOURCE[0]}" != "$0" ] || busywait "$@"
