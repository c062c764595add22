#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The details of a connection in "rdma -dd resource show" and ss: addresses, negotiated values,
# amounts sent and received; which users may see them; and that nobody sees kernel addresses.
. "$(dirname "$0")/../lib/begin.sh"

# is VALUE COMMAND...: COMMAND prints VALUE
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
a() { of_object qp "$DEV_A" "drv_$1" pid="$CLIENT"; }
b() { of_object qp "$DEV_B" "drv_$1" lqpn="$QPN_B"; }
more_than() { local n; n=$("${@:2}") && [ "$n" -gt "$1" ]; }

# connect IP PINGS: starts rping; sets SERVER, CLIENT, QPN_B
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
# marked NS: the established connections in namespace NS, as ss shows them
marked() { in_net "$1" ss -Htine state established "( sport = :7174 or dport = :7174 )" | tr '\n' ' '; }
# ss_shows NS LOCAL REMOTE: ss shows a connection between these addresses, with the driver's mark
ss_shows() { marked "$1" | grep -qF "$2" && marked "$1" | grep -qF "$3" && marked "$1" | grep -q tcp-ulp-iw_tcp; }
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

begin rping rdma python3 ss setpriv prlimit
only_iw_tcp "details of iw_tcp"
only_with COUNTERS
two_links 1500
for ip in $IP_B $IP6_B; do
	case $ip in *:*) LOCAL="[$IP6_A]" REMOTE="[$IP6_B]:7174" ;; *) LOCAL=$IP_A REMOTE=$IP_B:7174 ;; esac
	check "$ip: a connection" connect $ip 1000000
	check "the peer's address" is "$REMOTE" a remote
	check "is the peer's own" is "$REMOTE" b local
	NAME=$(a local)
	check "the own one: $NAME" [ "${NAME%:*}" = "$LOCAL" ]
	check "is what the peer sees" is "$NAME" b remote
	check "ss shows both, with the mark" ss_shows "$NS_A" "$NAME" "$REMOTE"
	check "and at the other end" ss_shows "$NS_B" "$NAME" "$REMOTE"
	check "connected" is RTS a rdmap_state
	check "revision 2" is 2 a mpa_revision
	check "with CRC" is on a crc
	for name in tx_markers rx_markers large_fpdus zerocopy; do check "no $name" is off a $name; done
	# MTU 1500; 20 or 40 octets of IP, 20 of TCP, 12 of timestamps; an FPDU has 6 besides its ULPDU
	case $ip in *:*) emss=1428 ;; *) emss=1448 ;; esac
	check "EMSS $emss" is $emss a emss
	check "MULPDU $((emss - 6))" is $((emss - 6)) a mulpdu
	check "one's IRD" is "$(a ird)" b ord
	check "is the other one's ORD" is "$(a ord)" b ird
	check "octets are sent" more_than 0 a tx_octets
	before=$(a rx_octets)
	check "and received" busywait 20 more_than "$before" a rx_octets
	disconnect
done

check "an ordinary socket has no such mark" sh -c "! ip netns exec $NS_A ss -Htie | grep -q tcp-ulp-iw_tcp"
refuse "no process can give it one" set_ulp

if want_configfs; then
	settings_begin
	set_link $DEV_A markers on
	set_links crc off
	set_link $DEV_B mpa_revision 1
	connect $IP_B 1000000
	check "without CRC" is off a crc
	check "revision 1" is 1 a mpa_revision
	check "markers to this end" is on a rx_markers
	check "which the other one sends" is on b tx_markers
	check "and not the other way" is off a tx_markers
	check "they take room" is $((1448 - 6 - 12)) b mulpdu
	disconnect
	settings_end
else
	skip "settings" "no configfs here"
fi

# which users see it
connect $IP_B 1000000
ip netns add "iwt-$TAG-c" && MADE_NS+=("iwt-$TAG-c")
seen() { in_net "$1" "${@:2}" rdma -dd -j resource show qp link "$DEV_A" | grep -c "$IP_B:7174"; }
nobody=(setpriv --reuid 65534 --clear-groups)
check "in the link's namespace everybody sees the addresses" is 1 seen "$NS_A" "${nobody[@]}"
check "elsewhere an administrator" is 1 seen "iwt-$TAG-c"
check "and nobody else" is 0 seen "iwt-$TAG-c" "${nobody[@]}"
# the privileges of the process that opened the netlink socket count
borrowed() { python3 "$IWT_LIB/borrowed.py" "$1" "$(rdma dev show "$DEV_A" | cut -d: -f1)" "$IP_B:7174"; }
check "nor who lets an administrator ask" is 0 borrowed "iwt-$TAG-c"
check "who opened the socket in the link's namespace sees them" is 1 borrowed "$NS_A"
everything() {
	local kind
	for kind in qp cq mr pd ctx cm_id; do rdma -dd -j resource show $kind; done
}
# kernel addresses begin with ffff on x86-64, and with as many digits on others
check "no address of kernel memory" sh -c "! grep -E 'ffff[0-9a-f]{12}|1844[0-9]{16}'" < <(everything)
refuse "the raw dump is for administrators" "${nobody[@]}" rdma -r resource show qp link "$DEV_A"
for kind in qp cq mr; do
	check "a raw dump of $kind" raw_agrees $kind "$DEV_A"
done
disconnect

# a user's connections, accepted or not, are the user's
wait_free "$NS_B" 7174
start in_b "${nobody[@]}" rping -s -a $IP_B -C 1000000 -V
SERVER=$PID
wait_listen "$NS_B" 7174
start in_a "${nobody[@]}" rping -c -a $IP_B -C 1000000 -V
CLIENT=$PID
of_user() { in_net "$1" ss -Htne state established "( sport = :7174 or dport = :7174 )" | grep -c "uid:65534"; }
check "a user's connection" busywait "$IWT_TIME" connected_qp "$DEV_A" "$CLIENT"
check "one that a user made is the user's" busywait "$IWT_TIME" is 1 of_user "$NS_A"
check "and one that a user accepted" is 1 of_user "$NS_B"
disconnect

# reads everything while connections begin and end
asks() { local end=$((SECONDS + $1)); while [ $SECONDS -lt "$end" ]; do everything >/dev/null; in_net "$NS_A" ss -tinpe >/dev/null; done; }
asks 4 & asker=$!
for _ in 1 2 3 4; do
	pair "pings, while it is asked for" 7174 "rping -s -a $IP_B -C 20 -V" "rping -c -a $IP_B -C 20 -V -v"
done
wait $asker

# Kernels hide a queue that is being destroyed at different times: the module iwt_shown asks for
# the queue after the device has destroyed it.
less=(prlimit --memlock=1048576:1048576 setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock)
shown() { cat "/sys/module/iwt_shown/parameters/$1"; }
if ! in_b modprobe -q iwt_shown netdevice="$IF_B"; then
	missing "queues that have been destroyed" "module iwt_shown"
else
	in_b "$IWT_BIN/iwt_verbs" "$DEV_B" >"$TMP/verbs" 2>&1
	subtests "destroyed, and shown" "$TMP/verbs" $?
	in_b "${less[@]}" "$IWT_BIN/iwt_limits" "$DEV_B" some srq 12 20 28 1000 >"$TMP/limits" 2>&1
	subtests "shared, destroyed, and shown" "$TMP/limits" $?
	pair "connected, destroyed, and shown" 7174 "rping -s -a $IP_B -C 20 -V" "rping -c -a $IP_B -C 20 -V -v"
	if ktest_load; then
		ktest local && ktest_results "those of the kernel"
		ktest srq && ktest_results "those of the kernel"
		check "the consumer in the kernel unloads" ktest_unload
	else
		skip "those of the kernel" "no iwt_ktest here"
	fi
	for kind in qps cqs srqs; do check "destroyed, and shown: $kind" more_than 0 shown $kind; done
	check "without a failure" is 0 shown failed
	check "as those of a process or of the kernel, as they are" is 0 shown mistaken
	check "the module unloads" modprobe -r iwt_shown
fi
ktap_finish
