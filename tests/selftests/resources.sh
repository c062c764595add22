#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The details of a connection in "rdma -dd resource show" and ss: addresses, negotiated values,
# amounts sent and received; which users may see the addresses; that these details show no address
# of kernel memory; raw dumps; the user of each socket; and queues whose details are requested while
# they are destroyed.
. "$(dirname "$0")/../lib/begin.sh"

# is VALUE COMMAND...: does COMMAND print VALUE?
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
# a NAME, b NAME: print a detail of the queue pair at A, or at B
a() { of_object qp "$DEV_A" "drv_$1" pid="$CLIENT"; }
b() { of_object qp "$DEV_B" "drv_$1" lqpn="$QPN_B"; }
more_than() { local n; n=$("${@:2}") && [ "$n" -gt "$1" ]; }

# connect IP PINGS: starts rping at both ends; sets SERVER and CLIENT (pids), and QPN_B
connect() {
	wait_free "$NS_B" 7174
	start in_b rping -s -a "$1" -C "$2" -V -S 3000
	SERVER=$PID
	wait_listen "$NS_B" 7174
	start in_a rping -c -a "$1" -C "$2" -V -S 3000
	CLIENT=$PID
	busywait "$IWT_TIME" connected_qp "$DEV_A" "$CLIENT" && busywait "$IWT_TIME" connected_qp "$DEV_B" "$SERVER" &&
		QPN_B=$(qp_of "$DEV_B" "$SERVER")
}
disconnect() {
	stop "$CLIENT"
	ended "$SERVER" >/dev/null
	busywait 20 no_qps "$DEV_A" && busywait 20 no_qps "$DEV_B"
}
# marked NS: prints the established connections in namespace NS as ss shows them
marked() { in_net "$1" ss -Htine state established "( sport = :7174 or dport = :7174 )" | tr '\n' ' '; }
# ss_shows NS LOCAL REMOTE: does ss, in NS, show a connection between these addresses, with the
# driver's mark (tcp-ulp-iw_tcp)?
ss_shows() { marked "$1" | grep -qF "$2" && marked "$1" | grep -qF "$3" && marked "$1" | grep -q tcp-ulp-iw_tcp; }
# set_ulp: starts a process that tries to set the driver's mark on its own socket
set_ulp() {
	in_a python3 - <<-'P'
	import socket, sys
	one = socket.create_server(("127.0.0.1", 0))
	two = socket.create_connection(one.getsockname())
	try:
	    two.setsockopt(socket.IPPROTO_TCP, 31, b"iw_tcp")
	except OSError as e:
	    sys.exit(str(e))
	P
}

begin iwt_bench rping rdma python3 ss setpriv prlimit
only_iw_tcp "details of iw_tcp"
only_with COUNTERS
two_links 1500
for ip in $IP_B $IP6_B; do
	case $ip in *:*) LOCAL="[$IP6_A]" REMOTE="[$IP6_B]:7174" ;; *) LOCAL=$IP_A REMOTE=$IP_B:7174 ;; esac
	check "$ip: a connection" connect $ip 1000000
	check "the remote address of A" is "$REMOTE" a remote
	check "the local address of B" is "$REMOTE" b local
	NAME=$(a local)
	check "the local address of A: $NAME" [ "${NAME%:*}" = "$LOCAL" ]
	check "the remote address of B" is "$NAME" b remote
	check "ss shows both addresses in A, with the driver's mark" ss_shows "$NS_A" "$NAME" "$REMOTE"
	check "ss shows both addresses in B, with the driver's mark" ss_shows "$NS_B" "$NAME" "$REMOTE"
	check "the state is RTS" is RTS a rdmap_state
	check "the revision is 2" is 2 a mpa_revision
	check "CRC is on" is on a crc
	for name in tx_markers rx_markers large_fpdus zerocopy; do check "no $name" is off a $name; done
	# The MTU is 1500 octets. The headers of IP need 20 or 40 of these octets, the header of
	# TCP 20, and timestamps 12. An FPDU has 6 octets more than its ULPDU.
	case $ip in *:*) emss=1428 ;; *) emss=1448 ;; esac
	check "EMSS $emss" is $emss a emss
	check "MULPDU $((emss - 6))" is $((emss - 6)) a mulpdu
	check "A's IRD is B's ORD" is "$(a ird)" b ord
	check "A's ORD is B's IRD" is "$(a ord)" b ird
	check "octets are sent" more_than 0 a tx_octets
	before=$(a rx_octets)
	check "octets are received" busywait 20 more_than "$before" a rx_octets
	disconnect
done

check "no other socket has the driver's mark" sh -c "! ip netns exec $NS_A ss -Htie | grep -q tcp-ulp-iw_tcp"
refuse "no process can give a socket the driver's mark" set_ulp

if want_configfs; then
	settings_begin
	set_link $DEV_A markers on
	set_links crc off
	set_link $DEV_B mpa_revision 1
	connect $IP_B 1000000
	check "settings: CRC is off" is off a crc
	check "settings: the revision is 1" is 1 a mpa_revision
	check "settings: A receives markers" is on a rx_markers
	check "settings: B sends markers" is on b tx_markers
	check "settings: A sends no markers" is off a tx_markers
	check "settings: B's MULPDU is smaller because of markers" is $((1448 - 6 - 12)) b mulpdu
	disconnect
	settings_end
else
	skip "settings" "no configfs here"
fi

# Which users see the addresses of a connection
connect $IP_B 1000000
ip netns add "iwt-$TAG-c" && MADE_NS+=("iwt-$TAG-c")
# seen NS [PREFIX...]: runs rdma in NS, by the command PREFIX, and prints how many queue pairs with
# B's address rdma shows
seen() { in_net "$1" "${@:2}" rdma -dd -j resource show qp link "$DEV_A" | grep -c "$IP_B:7174"; }
nobody=(setpriv --reuid 65534 --clear-groups)
check "in the link's namespace everybody sees the addresses" is 1 seen "$NS_A" "${nobody[@]}"
check "in another namespace an administrator sees them" is 1 seen "iwt-$TAG-c"
check "in another namespace a user without privileges does not see them" is 0 seen "iwt-$TAG-c" "${nobody[@]}"
# borrowed NS: prints how many queue pairs with B's address are shown if a user opens a netlink
# socket in NS, and an administrator sends the request on this socket. The kernel must apply the
# privileges of the user.
borrowed() { python3 "$IWT_LIB/borrowed.py" "$1" "$(rdma dev show "$DEV_A" | cut -d: -f1)" "$IP_B:7174"; }
check "a user in another namespace does not see them by an administrator's request" is 0 borrowed "iwt-$TAG-c"
check "a user in the link's namespace sees them by an administrator's request" is 1 borrowed "$NS_A"
everything() {
	local kind
	for kind in qp cq mr pd ctx cm_id; do rdma -dd -j resource show $kind; done
}
# Addresses of the kernel begin with ffff in hexadecimal, and with 1844 in decimal
check "no address of kernel memory" sh -c "! grep -E 'ffff[0-9a-f]{12}|1844[0-9]{16}'" < <(everything)
refuse "the raw dump is for administrators" "${nobody[@]}" rdma -r resource show qp link "$DEV_A"
for kind in qp cq mr; do
	check "a raw dump of $kind" raw_agrees $kind "$DEV_A"
done
disconnect

# The messages are long, so there is usually a message of which only a part has been sent
start in_b "$IWT_BIN/iwt_bench" -s -a $IP_B -p 7175 -m flow -o write -S 1048576 -t 3600000 >/dev/null
SERVER=$PID
wait_listen "$NS_B" 7175
start in_a "$IWT_BIN/iwt_bench" -c -a $IP_B -p 7175 -m flow -o write -S 1048576 -t 3600000 >/dev/null
CLIENT=$PID
check "a raw dump shows a message that is being sent" busywait "$IWT_TIME" raw_sending "$DEV_A"
stop "$CLIENT" "$SERVER"
busywait 20 no_qps "$DEV_A" && busywait 20 no_qps "$DEV_B"

# The sockets of connections belong to the user whose program connected or accepted
wait_free "$NS_B" 7174
start in_b "${nobody[@]}" rping -s -a $IP_B -C 1000000 -V
SERVER=$PID
wait_listen "$NS_B" 7174
start in_a "${nobody[@]}" rping -c -a $IP_B -C 1000000 -V
CLIENT=$PID
of_user() { in_net "$1" ss -Htne state established "( sport = :7174 or dport = :7174 )" | grep -c "uid:65534"; }
check "a user's connection" busywait "$IWT_TIME" connected_qp "$DEV_A" "$CLIENT"
check "the socket of a client belongs to its user" busywait "$IWT_TIME" is 1 of_user "$NS_A"
check "the socket of a server belongs to its user" is 1 of_user "$NS_B"
disconnect

# asks SECONDS: reads all details again and again; meanwhile the test makes connections
asks() { local end=$((SECONDS + $1)); while [ $SECONDS -lt "$end" ]; do everything >/dev/null; in_net "$NS_A" ss -tinpe >/dev/null; done; }
asks 4 & asker=$!
for _ in 1 2 3 4; do
	pair "pings, while another process reads everything" 7174 "rping -s -a $IP_B -C 20 -V" "rping -c -a $IP_B -C 20 -V -v"
done
wait $asker

# While a queue is destroyed, the RDMA core hides the queue from users, in some kernels later than
# in others. The module iwt_shown requests the details of a queue after the device has destroyed the
# queue. A driver in the kernel's own tree (in the laboratory series) need not be prepared for this:
# that kernel hides the queue before the device destroys it.
less=(prlimit --memlock=1048576:1048576 setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock)
shown() { cat "/sys/module/iwt_shown/parameters/$1"; }
if [ "$(modinfo -F intree iw_tcp)" = Y ]; then
	skip "queues that have been destroyed" "this kernel never shows them"
elif ! in_b modprobe -q iwt_shown netdevice="$IF_B"; then
	missing "queues that have been destroyed" "module iwt_shown"
else
	in_b "$IWT_BIN/iwt_verbs" "$DEV_B" >"$TMP/verbs" 2>&1
	subtests "destroyed, and shown" "$TMP/verbs" $?
	in_b "${less[@]}" "$IWT_BIN/iwt_limits" "$DEV_B" some srq 12 20 28 1000 >"$TMP/limits" 2>&1
	subtests "shared, destroyed, and shown" "$TMP/limits" $?
	pair "connected, destroyed, and shown" 7174 "rping -s -a $IP_B -C 20 -V" "rping -c -a $IP_B -C 20 -V -v"
	if ktest_load; then
		ktest local && ktest_results "queues of the kernel"
		ktest srq && ktest_results "queues of the kernel"
		check "the consumer in the kernel unloads" ktest_unload
	else
		skip "queues of the kernel" "no iwt_ktest here"
	fi
	for kind in qps cqs srqs; do check "destroyed, and shown: $kind" more_than 0 shown $kind; done
	check "destroyed, and shown: without a failure" is 0 shown failed
	check "destroyed, and shown: the owner, a process or the kernel, is right" is 0 shown mistaken
	check "the module iwt_shown unloads" modprobe -r iwt_shown
fi
ktap_finish
