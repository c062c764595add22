# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common functions of the suites of client and server programs. In the page of such a suite the
# recipe NAME-server has the command of the server, and NAME-client has the command of the client.

# meet_begin: makes two network namespaces with a link each. A namespace sees only its own link.
meet_begin() {
	rdma system set netns exclusive && ran "rdma system set netns exclusive" && setup 1500
}

# direct_off: turns direct connections off at both links
direct_off() {
	local link
	want_configfs || return
	for link in "$DEV_A" "$DEV_B"; do
		mkdir -p "/sys/kernel/config/iw_tcp/$link" && echo 0 >"/sys/kernel/config/iw_tcp/$link/direct_port" &&
			rmdir "/sys/kernel/config/iw_tcp/$link" || return
	done
}

# If ENDLESS is set, the server does not end by itself, and meet_commands() stops the server
ENDLESS=

# server_came PORT: waits until the server listens on PORT; if the wait times out, prints the
# server's output, and fails
server_came() { wait_listen "$NS_B" "$1" || { echo "nobody listens on port $1"; cat "$TMP/server"; return 1; }; }

# telling SIDE COMMAND...: runs COMMAND. In a suite that sets TELLING=1, the library regions.so
# writes the contents of COMMAND's memory regions to files when COMMAND disconnects or releases the
# regions; regions_came() compares the files. SIDE: server or client
# If TOGETHER is set as well, each side waits before it destroys its first queue pair, until the
# other side also wants to destroy one. If the server fails, iwt_patient ends the client.
TELLING=
TOGETHER=
telling() {
	local other=client
	if [ -z "$TELLING" ]; then "${@:2}"; return; fi
	[ "$1" = server ] || other=server
	LD_PRELOAD=$IWT_BIN/regions.so IWT_REGIONS=$TMP/regions-$1 IWT_MEET=${TOGETHER:+$TMP/regions-$other-end} "${@:2}"
}

# regions_came TO SIZE COUNT [--part]: does the memory of the side TO (client or server) contain
# COUNT messages of SIZE bytes that are also in the memory of the other side, the sender? regions.py
# compares the memory, and describes --part.
regions_came() {
	local from=client
	[ "$1" = server ] || from=server
	python3 "$here/regions.py" "${@:4}" "$TMP/regions-$from" "$TMP/regions-$1" "$2" "$3" &&
		verified $(($2 * $3))
}

# meet_commands PORT SERVER CLIENT: runs both commands, with line-buffered output. The client must
# end without an error, except for the known faults that well() (lib/pair.sh) accepts. The same
# applies to the server, unless ENDLESS is set: then this function stops the server.
meet_commands() {
	local srv rc=0 good=1
	wait_free "$NS_B" "$1" || echo "port $1 is still taken"
	rm -f "$TMP"/regions-*
	came_begin "$3"
	telling server start in_b stdbuf -oL bash -c "$2" >"$TMP/server" 2>&1
	srv=$PID
	server_came "$1" || { stop "$srv"; return 1; }
	telling client iwt_patient "$IWT_TIME" ip netns exec "$NS_A" stdbuf -oL bash -c "$3" >"$TMP/client" 2>&1 || rc=$?
	: >"$TMP/regions-client-end"
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

# meet_once PORT NAME [SED-SCRIPT]: runs the recipes NAME-server and NAME-client. Compares their
# output with the page, unless SED-SCRIPT has changed the recipes.
meet_once() {
	local s c
	s=$(recipe "$2-server" | sed "${3:-}")
	c=$(recipe "$2-client" | sed "${3:-}")
	if [ -z "$s" ] || [ -z "$c" ]; then echo "the page has no recipes $2-server and $2-client"; return 1; fi
	meet_commands "$1" "$s" "$c" || return
	[ -n "${3:-}" ] || { ran "$2-server" "$2-client" && as_told "$2-server" "$TMP/server" && as_told "$2-client" "$TMP/client"; }
}

# meet WHAT PORT NAME [SED-SCRIPT]: like meet_once, and reports the result as the check WHAT
meet() { check "$1" meet_once "${@:2}"; }

# meet_end: checks that no queue pair of a process is left, and deletes the links and the namespaces
meet_end() {
	check "no queue pair of the client is left" busywait 20 nothing_in "$NS_A"
	check "no queue pair of the server is left" busywait 20 nothing_in "$NS_B"
	check "the links are deleted" two_hosts_end
}
# nothing_in NS: is there no queue pair of a process in NS?
nothing_in() { ! in_ns "$1" rdma resource show qp | grep -q ' pid '; }
