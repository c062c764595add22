#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# talk.sh a|b: two machines, each with a network card, maybe of different architectures:
# tests connections in both directions, compares every octet of every operation, and runs
# NFS. "b" runs the commands of "a" (remote.py).
role=$1
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/lib/ktap.sh
. "$here/../lib/ktap.sh"
# shellcheck source=tests/lib/net.sh
. "$here/../lib/net.sh"
# shellcheck source=tests/lib/pair.sh
. "$here/../lib/pair.sh"

PORT=4444
TESTS=$(dirname "$here")

# card: the first net device but lo
card() { find /sys/class/net -type l ! -name lo -printf '%f\n' | sort | head -n 1; }

# up ADDRESS ADDRESS6
up() {
	modprobe -q virtio_net
	busywait 20 test -n "$(card)" || return
	CARD=$(card)
	ip addr add "$1/24" dev "$CARD" && ip link set "$CARD" up && ip addr add "$2/64" dev "$CARD" nodad
}

if [ "$role" = b ]; then
	up $IP_B $IP6_B || exit
	python3 "$here/remote.py" serve $IP_B $PORT
	exit
fi

# ---- the rest runs on side a: "a COMMAND", "b COMMAND" run COMMAND on either side ------

a() { bash -c "$*"; }
b() { python3 "$here/remote.py" run $IP_B $PORT "$*"; }
other() { [ "$1" = a ] && echo b || echo a; }
address() { case $1$2 in a4) echo $IP_A ;; a6) echo $IP6_A ;; b4) echo $IP_B ;; b6) echo $IP6_B ;; esac; }

# between SIDE PORT SERVER CLIENT: runs both, the server on SIDE; sets CLIENT_RC and SERVER_RC
between() {
	local side=$1 port=$2 server=$3 client=$4
	$side "rm -f /tmp/server.rc; (timeout $IWT_TIME $server >/tmp/server 2>&1; echo \$? >/tmp/server.rc) </dev/null >/dev/null 2>&1 &"
	$side "bash $TESTS/lib/wait.sh $IWT_TIME port_is $port yes"
	$(other "$side") "timeout $IWT_TIME $client" >"$TMP/pair-client" 2>&1
	CLIENT_RC=$?
	$side "bash $TESTS/lib/wait.sh 30 test -e /tmp/server.rc; cat /tmp/server" >"$TMP/pair-server"
	SERVER_RC=$($side "cat /tmp/server.rc")
}

# well_between WHAT SIDE PORT SERVER CLIENT
well_between() {
	between "${@:2}"
	if well "$CLIENT_RC" "$5" "$TMP/pair-client" && well "$SERVER_RC" "$4" "$TMP/pair-server"; then
		ok "$1"
		return
	fi
	not_ok "$1 (client $CLIENT_RC, server $SERVER_RC)"
	tail -n 12 "$TMP/pair-client" | cut -c 1-200 | diag
	tail -n 12 "$TMP/pair-server" | cut -c 1-200 | sed 's/^/# server: /'
}

# verify SIDE: all operations, both ways, on connections whose server is on SIDE
verify() {
	local options="--timeout $IWT_TIME --max-size ${IWT_SIZE:-70000}"
	between "$1" 7472 "$IWT_BIN/iwt_verify -s -a $(address "$1" 4) $options" \
		"$IWT_BIN/iwt_verify -c $(address "$1" 4) $options"
	subtests "verify, server on $1" "$TMP/pair-client" "$CLIENT_RC"
	check "its server ends well" [ "$SERVER_RC" = 0 ] || diag <"$TMP/pair-server"
}

# nfs: a's kernel serves, b mounts
nfs() {
	local step
	if ! b "modprobe -a rpcrdma nfs nfsv4" || ! modprobe -a rpcrdma nfsd; then
		missing "NFS" "module for it"
		return
	fi
	start unshare -m bash "$TESTS/consumers/nfs.sh" server "$TMP" >"$TMP/nfs-server" 2>&1
	check "NFS's server" busywait 90 test -e "$TMP/started" || diag <"$TMP/nfs-server"
	b "rm -rf /tmp/nfs; mkdir /tmp/nfs; unshare -m bash $TESTS/consumers/nfs.sh client /tmp/nfs 4"
	for step in mount write remount read umount; do
		check "NFS: $step" [ "$(b "cat /tmp/nfs/$step.rc")" = 0 ] || b "cat /tmp/nfs/$step.log" | diag
	done
	touch "$TMP/stop"
	check "NFS's server ends" ended "$PID"
}

# quiet SIDE: did SIDE count no damaged data and no errors of the other side?
quiet() {
	local name n bad=0
	for name in rx_crc_err rx_proto_err mpa_bad; do
		n=$($1 "cat /sys/class/infiniband/iwt0/ports/1/hw_counters/$name")
		[ "$n" = 0 ] || { echo "$name $n"; bad=1; }
	done
	return $bad
}

machine() { $1 "echo \$(uname -m), \$(uname -r), \$(python3 -c 'import sys; print(sys.byteorder)')"; }

ktap_begin
up $IP_A $IP6_A || { not_ok "a network card"; ktap_finish; }
check "the other machine" busywait 600 ping -c 1 -W 1 $IP_B
check "does what it is told" busywait 120 b true
for side in a b; do
	echo "# $side: $(machine $side)"
	check "$side: a link" $side "$(declare -f card); modprobe iw_tcp && rdma link add iwt0 type iw_tcp netdev \$(card)"
done
for side in b a; do
	for ip in 4 6; do
		to=$(address $side $ip)
		well_between "rping, IPv$ip, server on $side" $side 7174 "rping -s -a $to -C 10 -S 3000 -V" \
			"rping -c -a $to -C 10 -S 3000 -V -v"
	done
done
# the tests with errors on purpose come later
for side in a b; do check "$side: no errors" quiet $side; done
for side in b a; do verify $side; done
nfs
for side in a b; do
	check "$side: no resource is left" $side "! rdma resource show qp | grep -q ' pid '"
	check "$side: the link goes" $side "rdma link delete iwt0"
done
b end
ktap_finish
