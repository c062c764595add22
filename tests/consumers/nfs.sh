#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NFS over RDMA between two hosts (network namespaces joined by a veth pair):
# the kernel's server exports a tmpfs in one, the kernel's client mounts it
# with proto=rdma in the other, writes 64 MB, mounts again, reads and compares.
#
#   nfs.sh [--type LINK_TYPE] [--quick] [--one-host]
#
# --quick writes 4 MB. With --one-host both ends are in the initial namespace, for link types that
# work in no other namespace. Each role is one process, in its own mount namespace.

here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/lib/nfs.sh
. "$here/../lib/nfs.sh"

# ---- the two roles ---------------------------------------------------------

# watching PID: waits until process PID watches a directory
watching() {
	local n
	for ((n = 0; n < 50; n++)); do
		! readlink /proc/"$1"/fd/* 2>/dev/null | grep -q inotify || break
		sleep 0.2
	done
}

# server DIR: serves until DIR/stop appears
server() {
	local dir=$1 mountd cld rc=0
	mkdir -p /srv /run/rpc_pipefs /var/lib/nfs/nfsdcld
	mount -t tmpfs -o size=256m srv /srv || return
	mount -t nfsd nfsd /proc/fs/nfsd || return
	mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs || return
	exportfs -i -o rw,no_root_squash,insecure,no_subtree_check,fsid=1 '*:/srv' || return
	rpc.mountd --foreground -N 2 -N 3 >"$dir/mountd" 2>&1 &
	mountd=$!
	# With nfsdcld there is no grace period: it reports that no client has state to reclaim
	nfsdcld --foreground >"$dir/cld" 2>&1 &
	cld=$!
	watching $cld
	rpc.nfsd -N 3 -G 10 -L 10 --rdma=20049 4 || rc=$?
	cat /proc/fs/nfsd/portlist
	grep -q '^rdma 20049' /proc/fs/nfsd/portlist || rc=1
	echo $rc >"$dir/started"
	while [ ! -e "$dir/stop" ]; do sleep 0.2; done
	rpc.nfsd 0 || rc=$?
	kill $mountd $cld
	wait $mountd $cld
	cat "$dir/mountd" "$dir/cld"
	exportfs -u '*:/srv' || rc=$?
	umount /run/rpc_pipefs /proc/fs/nfsd /srv || rc=$?
	return $rc
}

# stats DIR DIRECTION: prints "BYTES CHUNKS" of the mount for one DIRECTION (read or write). BYTES
# are the bytes of NFS READ or WRITE. CHUNKS are the chunks for the RDMA WRITE or READ of the
# other end, which only the transport "rdma" shows
stats() {
	awk -v at=$NFS_AT -v read="$([ "$2" = read ] && echo 1)" '
		/ mounted on / { mine = $5 == at }
		mine && $1 == "bytes:" { bytes = read ? $6 : $7 }
		mine && $1 == "xprt:" && $2 == "rdma" { chunks += read ? $14 : $13 }
		END { print bytes + 0, chunks + 0 }' /proc/self/mountstats >"$1/stats.$2"
}

# client DIR MEGABYTES: runs all steps, and writes DIR/N.rc and DIR/N.log for each step N
client() {
	local dir=$1 mb=$2 step
	mkdir -p $NFS_AT
	for step in mount write umount remount read umount; do
		"client_$step" "$dir" "$mb" >"$dir/$step.log" 2>&1
		echo $? >"$dir/$step.rc"
		[ "$(cat "$dir/$step.rc")" = 0 ] || break
	done
	mountpoint -q $NFS_AT && umount -f -l $NFS_AT
}

client_mount() {
	nfs_mount 60 && grep " $NFS_AT " /proc/mounts && nfs_mounted
}

client_write() {
	head -c "$2"M /dev/urandom >/tmp/nfs-data &&
		dd if=/tmp/nfs-data of=$NFS_AT/data bs=1M conv=fsync &&
		stats "$1" write
}

client_umount() { umount $NFS_AT; }

client_remount() {
	echo 3 >/proc/sys/vm/drop_caches
	client_mount
}

client_read() {
	cmp /tmp/nfs-data $NFS_AT/data && stats "$1" read &&
		sha256sum </tmp/nfs-data && sha256sum <$NFS_AT/data
	local rc=$?
	rm -f /tmp/nfs-data
	return $rc
}

case ${1:-} in
server | client)
	role=$1
	shift
	"$role" "$@"
	exit
	;;
esac

# ---- the test --------------------------------------------------------------

# shellcheck source=tests/consumers/lib.sh
. "$here/lib.sh"
mb=64
[ -z "$QUICK" ] || mb=4

# step NAME WHAT: reports the result of a step of the client
step() {
	if [ -e "$TMP/$1.rc" ]; then
		report "$(cat "$TMP/$1.rc")" "$2" "$TMP/$1.log"
	else
		not_ok "$2"
		echo '# not reached'
	fi
}

# moved DIRECTION: did the mount transfer all bytes by RDMA?
moved() {
	echo "bytes and chunks: $(cat "$TMP/stats.$1")"
	awk -v min=$((mb << 20)) 'END { exit $1 < min || !$2 }' "$TMP/stats.$1"
}

stop_server() {
	touch "$TMP/stop"
	wait "$server_pid"
}

require rpc.nfsd
want_modules "${NFS_MODULES[@]}" || skip_all "this kernel has no NFS over RDMA"
require_type "$IWT_LINK_TYPE"
ktap_begin
hosts=two_hosts end=two_hosts_end server_ns=$NS_A client_ns=$NS_B server_link=$DEV_A client_link=$DEV_B
if [ -n "$ONE_HOST" ]; then
	hosts=one_host end=one_host_end server_ns='' client_ns='' server_link=iwt0 client_link=iwt0
fi
if check "links: $hosts" $hosts; then
	in_ns "$server_ns" unshare -m bash "$0" server "$TMP" >"$TMP/server.log" 2>&1 &
	server_pid=$!
	STARTED+=("$server_pid")
	busywait 60 test -e "$TMP/started" || echo 'the server did not start' >>"$TMP/server.log"
	report "$(cat "$TMP/started" 2>/dev/null || echo 1)" 'NFS server listens on RDMA port 20049' "$TMP/server.log" &&
		in_ns "$client_ns" unshare -m bash "$0" client "$TMP" $mb
	step mount 'mount with proto=rdma'
	step write "write $mb MB"
	step remount 'unmount, drop caches, mount again'
	step read "read $mb MB back, identical"
	step umount 'unmount'
	check 'what was written went through RDMA' moved write
	check 'what was read came through RDMA' moved read
	check 'NFS server stops cleanly' stop_server || diag <"$TMP/server.log"
	check 'no RDMA resource of the server is left' left_over "$server_ns" $server_link
	check 'no RDMA resource of the client is left' left_over "$client_ns" $client_link
fi
check 'links go away' $end
ktap_finish
