# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the suites of programs share: a page has the command of a server, in the recipe
# NAME-server, and that of a client, in NAME-client.

# meet_begin: two network namespaces with a link each, which see only their own link
meet_begin() {
	rdma system set netns exclusive && ran "rdma system set netns exclusive" && setup 1500
}

# The server may have to be stopped, since it serves for ever
ENDLESS=

# server_came PORT: waits until the server listens
server_came() { wait_listen "$NS_B" "$1" || { echo "nobody listens on port $1"; cat "$TMP/server"; return 1; }; }

# telling SIDE COMMAND...: in a suite that says TELLING=1, COMMAND tells what is in its memory when
# it ends (regions_came)
TELLING=
telling() {
	if [ -z "$TELLING" ]; then "${@:2}"; return; fi
	LD_PRELOAD=$IWT_BIN/regions.so IWT_REGIONS=$TMP/regions-$1 "${@:2}"
}

# regions_came TO SIZE COUNT [--part]: did so many messages of SIZE octets arrive in the memory of
# the side TO as they are in that of the other one? See regions.py.
regions_came() {
	local from=client
	[ "$1" = server ] || from=server
	python3 "$here/regions.py" "${@:4}" "$TMP/regions-$from" "$TMP/regions-$1" "$2" "$3" &&
		verified $(($2 * $3))
}

# meet_commands PORT SERVER CLIENT: both must end well; their lines are there as soon as they are
# printed
meet_commands() {
	local srv rc=0 good=1
	wait_free "$NS_B" "$1" || echo "port $1 is still taken"
	rm -f "$TMP"/regions-*
	came_begin "$3"
	telling server start in_b stdbuf -oL bash -c "$2" >"$TMP/server" 2>&1
	srv=$PID
	server_came "$1" || { stop "$srv"; return 1; }
	telling client iwt_patient "$IWT_TIME" ip netns exec "$NS_A" stdbuf -oL bash -c "$3" >"$TMP/client" 2>&1 || rc=$?
	well $rc "$3" "$TMP/client" || good=
	if [ -z "$good" ] || [ -n "$ENDLESS" ]; then stop "$srv"; fi
	if [ -z "$ENDLESS" ]; then
		ended "$srv" >/dev/null
		rc+=,$?
		well ${rc#*,} "$2" "$TMP/server" || good=
	fi
	tail -n 15 "$TMP/client" | sed 's/^/client: /'
	tail -n 15 "$TMP/server" | sed 's/^/server: /'
	echo "status: $rc"
	[ -n "$good" ]
}

# meet_once PORT NAME [SED-SCRIPT]
meet_once() {
	local s c
	s=$(recipe "$2-server" | sed "${3:-}")
	c=$(recipe "$2-client" | sed "${3:-}")
	if [ -z "$s" ] || [ -z "$c" ]; then echo "the page has no recipes $2-server and $2-client"; return 1; fi
	meet_commands "$1" "$s" "$c" || return
	[ -n "${3:-}" ] || { ran "$2-server" "$2-client" && as_told "$2-server" "$TMP/server" && as_told "$2-client" "$TMP/client"; }
}

# meet WHAT PORT NAME [SED-SCRIPT]
meet() { check "$1" meet_once "${@:2}"; }

meet_end() {
	check "no queue pair of the client is left" busywait 20 nothing_in "$NS_A"
	check "no queue pair of the server is left" busywait 20 nothing_in "$NS_B"
	check "links go away" two_hosts_end
}
nothing_in() { ! in_ns "$1" rdma resource show qp | grep -q ' pid '; }
