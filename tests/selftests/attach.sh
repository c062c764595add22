#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Delayed startup: programs first use TCP connections themselves, then attach the sockets.
# A driver that was built without delayed startup refuses to attach sockets.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_attach python3
only_iw_tcp "other drivers can't attach sockets"
two_links

# api WHAT MODE ADDRESS [ARGUMENT]: runs the mode MODE of iwt_attach. One process in A has both ends
# of each connection.
api() {
	tap "$1" iwt_patient 120 ip netns exec "$NS_A" "$IWT_BIN/iwt_attach" "$2" "$DEV_A" "$3" "${@:4}"
}
if ! has_feature DELAYED; then
	api "without delayed startup" without $IP_A
	ktap_finish
fi
api IPv4 cases $IP_A
api IPv6 cases $IP6_A
api "IPv4 in IPv6" cases ::ffff:$IP_A
api descriptors fds $IP_A "/run/netns/$NS_B"
api errors icmp $IP_A
if has_feature TUNE; then
	api "receive buffer" buffer $IP_A
else
	skip "receive buffer" "the driver was built without TUNE"
fi
api race race $IP_A
api "race, IPv4 in IPv6" race ::ffff:$IP_A

# The provider's example program uses RDMA if its peer is the same program, and text if its peer is
# another program
example() {
	start in_b "$IWT_BIN/iwtdv_hello" "$DEV_B" 7178 >"$TMP/hello-b" 2>&1
	wait_listen "$NS_B" 7178
	in_a iwt_patient 60 "$IWT_BIN/iwtdv_hello" "$DEV_A" 7178 $IP_B >"$TMP/hello-a" 2>&1
	check "the example: client" grep -q "by RDMA: welcome" "$TMP/hello-a"
	check "the example: server ends" ended "$PID"
	check "the example: server" grep -q "by RDMA: hello" "$TMP/hello-b"
	start in_b "$IWT_BIN/iwtdv_hello" "$DEV_B" 7178 >"$TMP/hello-b" 2>&1
	wait_listen "$NS_B" 7178
	in_a iwt_patient 60 python3 -c "
import socket
s = socket.create_connection(('$IP_B', 7178))
s.sendall(b'text?\n')
print(s.recv(100))" >"$TMP/hello-a" 2>&1
	check "the example: in text" grep -q "text it is" "$TMP/hello-a"
	ended "$PID"
}
if [ -x "$IWT_BIN/iwtdv_hello" ]; then
	example
else
	missing "the example" iwtdv_hello
fi

# A peer in Python that implements MPA, DDP and RDMAP itself
serve() {
	start in_b "$IWT_BIN/iwt_attach" serve "$DEV_B" $IP_B 7176 >"$TMP/serve" 2>&1
	SRV=$PID
	wait_listen "$NS_B" 7176
}
serve
tap peer in_a iwt_patient 200 python3 "$(dirname "$0")/../peer/attach.py" $IP_B 7176
check "the server ends well" ended "$SRV"
grep -q "^connect: Protocol error" "$TMP/serve" || diag <"$TMP/serve"

said() { grep -q "$1" "$2"; }
# pair_of WHAT: starts the server SRV in B and the client CLI in A, which exchange data without end.
# The test then kills one of the programs or deletes the client's link.
pair_of() {
	serve
	start in_a "$IWT_BIN/iwt_attach" client "$DEV_A" $IP_B 7176 >"$TMP/client" 2>&1
	CLI=$PID
	check "$1: two programs exchange data" busywait "$IWT_TIME" said moving "$TMP/client"
}

named() { in_a ss -tnei >"$TMP/ss" && grep -q "tcp-ulp-iw_tcp" "$TMP/ss"; }
pair_of "server killed"
modprobe -q tcp_diag
if in_a ss -tni 2>/dev/null | grep -q cwnd; then
	check "ss shows that the socket belongs to iw_tcp" busywait "$IWT_TIME" named || diag <"$TMP/ss"
else
	skip "ss shows that the socket belongs to iw_tcp" "no ss, or no tcp_diag here"
fi
check "server killed: the client runs until then" alive "$CLI"
kill -KILL "$SRV"
check "server killed: the client ends" ended "$CLI"
check "server killed: the client's descriptor reports the end" said POLLHUP "$TMP/client"
check "server killed: no queue pair is left" busywait 20 no_qps "$DEV_B"

pair_of "client killed"
kill -KILL "$CLI"
check "client killed: no queue pair is left" busywait 20 no_qps "$DEV_A"
check "client killed: no connection is left" wait_in 20 "$NS_B" no_connections 7176
stop "$SRV"

# The peer accepts the TCP connection but never sends a Reply. A signal ends the initiator while the
# initiator waits for the Reply.
for signal in TERM KILL; do
	start in_b python3 -c "
import socket, time
s = socket.create_server(('$IP_B', 7177))
c = s.accept()[0]
time.sleep(600)" >"$TMP/silent" 2>&1
	SRV=$PID
	wait_listen "$NS_B" 7177
	start in_a "$IWT_BIN/iwt_attach" hold "$DEV_A" $IP_B 7177 >"$TMP/client" 2>&1
	CLI=$PID
	busywait "$IWT_TIME" said holding "$TMP/client"
	nap 0.3
	kill -$signal "$CLI"
	check "initiator ended by $signal: no queue pair is left" busywait 20 no_qps "$DEV_A"
	check "initiator ended by $signal: no connection is left" wait_in 20 "$NS_A" no_connections 7177
	stop "$SRV"
done

pair_of "link removed"
check "link removed: rdma deletes the link" iwt_patient 60 ip netns exec "$NS_A" rdma link delete "$DEV_A"
check "link removed: the link is gone" busywait 20 no_link "$DEV_A"
check "link removed: the program that used the link ends" ended "$CLI" || diag <"$TMP/client"
check "link removed: the program's descriptor reports the end" said POLLHUP "$TMP/client"
stop "$SRV"
ktap_finish
