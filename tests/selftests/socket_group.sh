#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The sockets of a process's connections belong to the control group of the process: BPF programs of
# the group apply to these sockets, and packet filters can match the group. The driver makes many of
# these sockets in its own threads.
. "$(dirname "$0")/../lib/begin.sh"
# shellcheck source=tests/lib/cgroup.sh
. "$IWT_LIB/cgroup.sh"

begin iwt_ports iwt_conn ibv_rc_pingpong ss
only_iw_tcp "other drivers make their sockets elsewhere"
{ [ -e $CG_TOP/cgroup.controllers ] && mkdir -p "$CG" 2>/dev/null; } || skip_all "no control groups of version 2 here"
trap 'cleanup; cg_del' EXIT
two_links

# grouped NAMESPACE COMMAND...: starts a program in the group and in a namespace
grouped() {
	# shellcheck disable=SC2016
	start bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CG" ip netns exec "$@" >"$TMP/program" 2>&1
	PIDS+=("$PID")
}
# groups NAMESPACE: prints the control groups of the connections at port $R
groups() { in_net "$1" ss -Htne --cgroup state established "sport = :$R or dport = :$R" | grep -o 'cgroup:[^ ]*' | sort -u; }
# in_group NAMESPACE: are there connections in the namespace, all of which are in the group?
in_group() { [ "$(groups "$1")" = "cgroup:/${CG##*/}" ]; }
# result WHAT: checks the connections of the running programs, and ends the programs
result() {
	local end ns
	for end in A B; do
		ns=NS_$end
		check "$1: the group of the sockets of $end" busywait "$IWT_TIME" in_group "${!ns}" || groups "${!ns}" | diag
	done
	stop "${PIDS[@]}"
	PIDS=()
}
PIDS=()

# A socket of TCP shows whether this kernel records the groups of sockets, and whether ss knows them.
grouped "$NS_B" "$IWT_BIN/iwt_ports" -s "$IP_B" 7600
wait_listen "$NS_B" 7600 || { not_ok "a socket of TCP listens"; ktap_finish; }
in_net "$NS_B" ss -Htlne --cgroup "sport = :7600" 2>/dev/null | grep -q cgroup: || skip_all "this kernel does not record the control groups of sockets"
stop "${PIDS[@]}"
PIDS=()

# The server listens before its link exists, so the task that adds the link makes the listening
# socket.
R=7500
link_del "$NS_B" "$DEV_B"
grouped "$NS_B" "$IWT_BIN/iwt_conn" -s -a 0.0.0.0 -p $R
busywait "$IWT_TIME" pgrep -x iwt_conn >/dev/null
nap 1
link_add "$NS_B" "$DEV_B" "$IF_B"
wait_listen "$NS_B" $R
grouped "$NS_A" "$IWT_BIN/iwt_ports" -k "$IP_B" $R
result "rdma_cm"

if has_feature DIRECT; then
	R=64791
	for ends in "B A" "A B"; do
		server=${ends% *} client=${ends#* }
		ns=NS_$server dev=DEV_$server
		grouped "${!ns}" ibv_rc_pingpong -d "${!dev}" -g 1 -n 100000000
		wait_listen "${!ns}" 18515
		ip=IP_$server ns=NS_$client dev=DEV_$client
		grouped "${!ns}" ibv_rc_pingpong -d "${!dev}" -g 1 -n 100000000 "${!ip}"
		result "direct connection, the server is $server"
	done
	# Queue pairs of other processes will share the listener, so it must not be in the group.
	listener() { local ns; for ns in $NS_A $NS_B; do in_net "$ns" ss -Htlne --cgroup "sport = :$R"; done; }
	one_listens() { [ -n "$(listener)" ]; }
	grouped "$NS_A" "$IWT_BIN/iwt_direct" "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 alone
	check "a direct connection: a queue pair listens" busywait "$IWT_TIME" one_listens
	listener | diag
	no_group() { [ "$(listener | grep -o 'cgroup:[^ ]*' | sort -u)" = cgroup:/ ]; }
	check "a direct connection: the listener is in no group of a process" no_group
	stop "${PIDS[@]}"
	PIDS=()
fi
check "the group can be removed" busywait "$IWT_TIME" cg_del
ktap_finish
