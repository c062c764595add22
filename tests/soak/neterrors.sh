#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests what the user guide says about NFS in a network namespace whose network is unreachable
# for a moment: with the mount option fatal_neterrors=none the client waits; without this option,
# the client of newer kernels ends its operation with an error. (nfs-traffic.sh mounts with the
# option.)
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/lib/nfs.sh
. "$here/../lib/nfs.sh"

# client DIR [,OPTION]: mounts and writes, and stores the exit status in DIR/mounted. When the file
# DIR/unreachable exists, reads, and stores the exit status in DIR/ended. Unmounts when the file
# DIR/over exists.
client() {
	local dir=$1
	. "$here/../lib/wait.sh"
	mkdir -p $NFS_AT
	nfs_mount 120 "$2" >"$dir/mount" 2>&1 &&
		dd if="$dir/data" of=$NFS_AT/data conv=fsync status=none >>"$dir/mount" 2>&1
	echo $? >"$dir/mounted"
	busywait 300 test -e "$dir/unreachable"
	dd if=$NFS_AT/data of="$dir/got" bs=64k iflag=direct status=none 2>"$dir/error"
	echo $? >"$dir/ended"
	busywait 300 test -e "$dir/over"
	umount $NFS_AT
}

if [ "${1:-}" = client ]; then client "$2" "${3:-}"; exit; fi
# shellcheck source=tests/lib/consumer.sh
. "$here/../lib/consumer.sh"

no_qps() { ! rdma resource show qp link "$DEV_B/1" | grep -q .; }

# unreachable: deletes the server's link, which ends the connection; then sets the client's net
# device down, so that no new connection can be made. If the net device were down first, the
# client's TCP would not notice the end of the connection, and would wait.
unreachable() {
	link_del "$NS_A" "$DEV_A" && busywait 60 no_qps && ip -n "$NS_B" link set "$IF_B" down
}

reachable() {
	ip -n "$NS_B" link set "$IF_B" up && link_add "$NS_A" "$DEV_A" "$IF_A" && busywait 30 in_net "$NS_B" ping -c 1 -W 1 $IP_A
}

# mount_of DIR [,OPTION]: starts a client that mounts; CLIENT is its pid
mount_of() {
	mkdir "$1"
	head -c 100000 /dev/urandom >"$1/data"
	start ip netns exec "$NS_B" unshare -m bash "$here/neterrors.sh" client "$1" "${2:-}"
	CLIENT=$PID
	busywait 150 test -s "$1/mounted" && [ "$(cat "$1/mounted")" = 0 ] || { cat "$1/mount"; return 1; }
}

said() { grep -qE "$1" "$2"; }
same() { [ "$(cat "$1/ended")" = 0 ] && cmp "$1/data" "$1/got"; }

# end_of DIR: lets the client unmount and end
end_of() {
	: >"$1/over"
	ended "$CLIENT"
}

without() {
	local d=$TMP/without
	check "a mount without the option" mount_of "$d" || return
	check "the network is unreachable" unreachable
	: >"$d/unreachable"
	check "a read ends" busywait 120 test -s "$d/ended"
	# open(2) fails with ENETUNREACH, read(2) with EIO
	check "the read ends with an error" said 'Network is unreachable|Input/output error' "$d/error" || diag <"$d/error"
	check "the network is there again" reachable
	check "unmounted" end_of "$d"
}

with() {
	local d=$TMP/with
	check "a mount with the option" mount_of "$d" ,fatal_neterrors=none || return
	check "the network is unreachable once more" unreachable
	: >"$d/unreachable"
	# TOOK is the time of without(): wait longer than a read without the option takes to fail
	check "a read does not end" not busywait $((TOOK + 10)) test -s "$d/ended"
	check "the network is there again" reachable
	check "the read ends when the network is there" busywait 120 test -s "$d/ended"
	check "the read has read what was written" same "$d" || diag <"$d/error"
	check "unmounted" end_of "$d"
}

# knows: does the kernel know the option fatal_neterrors? mount.nfs passes unknown options to the
# kernel, and the kernel refuses unknown options before it connects to the server
knows() {
	! ip netns exec "$NS_B" unshare -m iwt_patient 60 mount.nfs $NFS_FROM /mnt -o "${NFS_OPTIONS/20049/1},fatal_neterrors=none" 2>&1 |
		grep -q 'incorrect mount option'
}

require rpc.nfsd
want_modules "${NFS_MODULES[@]}" || skip_all "this kernel has no NFS over RDMA"
require_type "$IWT_LINK_TYPE"
ktap_begin
if check "two hosts" two_hosts; then
	if knows; then
		mkdir "$TMP/server"
		start ip netns exec "$NS_A" unshare -m bash "$here/../lib/nfs_roles.sh" server "$TMP/server" >"$TMP/log" 2>&1
		server=$PID
		check "NFS server" busywait 90 said '^0' "$TMP/server/started" || diag <"$TMP/log"
		TOOK=$SECONDS
		without
		TOOK=$((SECONDS - TOOK))
		with
		check "the clients have recovered" busywait 120 not nfs_recovers || nfs_recovery | diag
		: >"$TMP/server/stop"
		check "the server ends" ended "$server"
	else
		skip "fatal_neterrors" "this kernel has no such mount option"
	fi
	check "the links are deleted" two_hosts_end
fi
ktap_finish
