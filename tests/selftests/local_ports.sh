#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The local ports of clients: a client gets the ports that a TCP program gets, and does not take
# the port of a listener.
. "$(dirname "$0")/../lib/begin.sh"

# In A, TCP and rdma_cm choose at first one of PORTS local ports, from LOW on; later tests use other
# ranges of 100 ports above these ports. The ports from OWN on are outside of all these ranges. For
# each address family, LOW and OWN grow by 1000.
LOW=40000 PORTS=40
OWN=50000
# Servers of B: RDMA at 7500 and 7501, TCP at 7600 and 7601
R1=7500 R2=7501 T1=7600 T2=7601

# client ARGUMENT...: runs iwt_ports in A
client() { iwt_patient "$IWT_TIME" nsenter --net="/run/netns/$NS_A" "$IWT_BIN/iwt_ports" "$@"; }
# sockets STATE FILTER: prints how many sockets of address A are in STATE and match FILTER of ss
sockets() { in_net "$NS_A" ss -Htan state "$1" "src [$A] and $2" | wc -l; }
# used PORT TO: does A have a connection from PORT to the port TO, even one in the state TIME-WAIT?
used() { [ "$(sockets all "sport = :$1 and dport = :$2")" = 1 ]; }
# from PORT TO [OPTION...]: connects from PORT to port TO of the server, and checks the local port
from() {
	client -f "$A" -b "$1" "${@:3}" "$B" "$2" || return
	busywait "$IWT_TIME" used "$1" "$2" || { in_net "$NS_A" ss -tane "src [$A] and sport = :$1"; in_net "$NS_B" nstat -as | grep -i rst; return 1; }
}
# outside PORT: is PORT outside of the range from which TCP chooses ports?
outside() { [ "$1" -ge $OWN ]; }

# begin_servers: starts the servers of B; their pids are in SERVERS
begin_servers() {
	local port
	SERVERS=()
	for port in $R1 $R2; do
		start in_b "$IWT_BIN/iwt_conn" -s -a "$B" -p "$port"
		SERVERS+=("$PID")
	done
	start in_b "$IWT_BIN/iwt_ports" -s "$B" $T1 $T2
	SERVERS+=("$PID")
	for port in $R1 $R2 $T1 $T2; do wait_listen "$NS_B" "$port"; done
}

# no_port_named: tests clients for which the kernel chooses the port
no_port_named() {
	check "$A: $PORTS connections from $PORTS ports" client -n $PORTS "$B" $R1
	# If rdma_cm chooses the port of an earlier connection to the same destination, the driver
	# binds to this port, and TCP then gives the port to no other socket. So fewer than PORTS
	# ports may be left, and the next checks need only half of the ports.
	check "$A: TCP uses the same ports" client -t -n $((PORTS / 2)) "$B" $T1
	check "$A: $((PORTS / 2)) connections to another port of the server" client -n $((PORTS / 2)) "$B" $R2
	if [ "$A" = $IP_A ]; then
		ktest inval >/dev/null 2>&1
		ktest_results "$A: a consumer in the kernel"
	fi
}

# port_named PORT: tests clients that bind to PORT or to one of the next two ports
port_named() {
	local port=$1 how
	for how in "" -r; do
		# shellcheck disable=SC2086
		check "$A: from port $port${how:+, REUSEADDR}" from "$port" $R1 $how
		# shellcheck disable=SC2086
		check "$A: once more" from "$port" $R1 $how
		# shellcheck disable=SC2086
		check "$A: to another port of the server" from "$port" $R2 $how
		port=$((port + 1))
	done
	check "$A: TCP, from port $1" from "$1" $T1 -t -r
	check "$A: TCP, from port $port" from "$port" $T2 -t -r
	check "$A: from port $port, after TCP" from "$port" $R1
}

# keep PORT TO: starts a client that connects from PORT to the port TO, and keeps this connection;
# the pid of the client is in PID
keep() {
	start in_a "$IWT_BIN/iwt_ports" -k -r -f "$A" -b "$1" "$B" "$2" >"$TMP/kept"
	busywait "$IWT_TIME" grep -q port "$TMP/kept"
}

# port_connected PORT: tests clients that bind to PORT while a connection of another client uses
# PORT
port_connected() {
	local kept
	keep "$1" $R1
	kept=$PID
	check "$A: from the port $1 of a connection to another port of the server" from "$1" $R2 -r
	if outside "$1"; then
		REFUSAL=EADDRNOTAVAIL refuse "$A: from the port $1 of a connection to the same port" from "$1" $R1 -r
	else
		check "$A: from the port $1 of a connection to the same port: the client gets another port" client -f "$A" -b "$1" -r "$B" $R1
	fi
	check "$A: the connection from port $1 still exists" test "$(sockets established "sport = :$1 and dport = :$R1")" = 1
	stop "$kept"
}

# bound PORT OPTION...: starts a TCP program of another user, which binds to PORT in A; the pid of
# the program is in PID
bound() {
	start in_a setpriv --reuid 65534 --clear-groups "$IWT_BIN/iwt_ports" -s "${@:2}" "$A" "$1" >"$TMP/bound"
}

# port_of_another PORT: tests clients that bind to a port which another user's program has bound:
# PORT is the port of a listener, PORT + 1 is bound without SO_REUSEADDR, and PORT + 2 is bound with
# SO_REUSEADDR
port_of_another() {
	local port=$1 without=$(($1 + 1)) with=$(($1 + 2)) pids=()
	bound "$port" -r
	pids+=("$PID")
	wait_listen "$NS_A" "$port"
	bound $without -w
	pids+=("$PID")
	busywait "$IWT_TIME" grep -q bound "$TMP/bound"
	bound $with -w -r
	pids+=("$PID")
	busywait "$IWT_TIME" grep -q bound "$TMP/bound"

	if outside "$port"; then
		REFUSAL=EADDRINUSE refuse "$A: from the port $port of a listener" from "$port" $R1
		REFUSAL=EADDRINUSE refuse "$A: from the port $port of a listener, REUSEADDR" from "$port" $R1 -r
		REFUSAL=EADDRINUSE refuse "$A: from a port that is bound without SO_REUSEADDR" from $without $R1 -r
	else
		check "$A: from the port $port of a listener: the client gets another port" client -f "$A" -b "$port" "$B" $R1
		check "$A: from a port that is bound without SO_REUSEADDR: the client gets another port" client -f "$A" -b $without -r "$B" $R1
	fi
	check "$A: no connection has the port $port" test "$(sockets all "sport = :$port and dport = :$R1")" = 0
	check "$A: no connection has the port $without" test "$(sockets all "sport = :$without and dport = :$R1")" = 0
	check "$A: the listener accepts connections" client -t "$A" "$port"
	check "$A: from a port that is bound with SO_REUSEADDR" from $with $R1
	kill -USR1 "$PID"
	check "$A: the owner of port $with can still listen" wait_listen "$NS_A" $with
	check "$A: the owner of port $with accepts connections" client -t "$A" $with
	stop "${pids[@]}"
}

begin iwt_ports iwt_conn ss setpriv
ktest_need
two_links
# If the server's FIN was retransmitted because this machine was slow, the server answers the
# acknowledgment of the second FIN by RST, which by default ends the state TIME-WAIT of the client.
in_net "$NS_A" sysctl -qw net.ipv4.tcp_rfc1337=1
for A in $IP_A $IP6_A; do
	if [ "$A" = $IP_A ]; then B=$IP_B; else B=$IP6_B; fi
	# IPv4 and IPv6 share ports
	LOW=$((LOW + 1000)) OWN=$((OWN + 1000))
	in_net "$NS_A" sysctl -qw net.ipv4.ip_local_port_range="$LOW $((LOW + PORTS - 1))"
	begin_servers
	no_port_named
	in_net "$NS_A" sysctl -qw net.ipv4.ip_local_port_range="$((LOW + 100)) $((LOW + 199))"
	port_named $OWN
	port_connected $((OWN + 10))
	refuse "$A: a client that connects to its own port" client -f "$A" -b $((OWN + 30)) "$A" $((OWN + 30))
	port_of_another $((OWN + 20))
	# Ports inside the range; only IPv4, because the driver's decisions do not depend on the
	# address family
	if [ "$A" = $IP_A ]; then
		# A new range: TCP has given none of its ports to a connection before
		in_net "$NS_A" sysctl -qw net.ipv4.ip_local_port_range="$((LOW + 200)) $((LOW + 299))"
		port_named $((LOW + 200))
		port_of_another $((LOW + 220))
		port_connected $((LOW + 210))
	fi
	stop "${SERVERS[@]}"
done
ktap_finish
