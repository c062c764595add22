#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NFS over RDMA: the kernel's server exports a tmpfs, and the kernel's client mounts it with
# proto=rdma, writes a file of MEGABYTES, unmounts, mounts again, reads and compares the file.
#
#   nfs_roles.sh server DIR		starts the server, writes 0 to DIR/started if the server
#					listens for RDMA (else another number, or nothing if a
#					mount or the export fails), and serves until the file
#					DIR/stop exists
#   nfs_roles.sh client DIR MEGABYTES	writes the exit status and the output of each step to
#					DIR/STEP.rc and DIR/STEP.log
#
# Each role needs its own network namespace and its own mount namespace.

here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/lib/nfs.sh
. "$here/nfs.sh"

# watching PID: waits until process PID has an inotify descriptor, but for at most ten seconds
watching() {
	local n
	for ((n = 0; n < 50; n++)); do
		! readlink /proc/"$1"/fd/* 2>/dev/null | grep -q inotify || break
		sleep 0.2
	done
}

# server DIR: starts the server, and serves until DIR/stop exists
server() {
	local dir=$1 mountd cld rc=0
	mkdir -p /srv /run/rpc_pipefs /var/lib/nfs/nfsdcld
	mount -t tmpfs -o size=256m srv /srv || return
	mount -t nfsd nfsd /proc/fs/nfsd || return
	mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs || return
	exportfs -i -o rw,no_root_squash,insecure,no_subtree_check,fsid=1 '*:/srv' || return
	rpc.mountd --foreground -N 2 -N 3 >"$dir/mountd" 2>&1 &
	mountd=$!
	# nfsdcld reports to the server that no client has state to reclaim. So the server needs no
	# grace period, in which it would wait for clients.
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

# client DIR MEGABYTES: runs the steps of the client until a step fails
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
		dd if=/tmp/nfs-data of=$NFS_AT/data bs=1M conv=fsync
}

client_umount() { umount $NFS_AT; }

client_remount() {
	echo 3 >/proc/sys/vm/drop_caches
	client_mount
}

client_read() {
	cmp /tmp/nfs-data $NFS_AT/data && sha256sum </tmp/nfs-data && sha256sum <$NFS_AT/data
	local rc=$?
	rm -f /tmp/nfs-data
	return $rc
}

case ${1:-} in
server | client) "$@" ;;
*) echo "usage: $0 server DIR | client DIR MEGABYTES" >&2; exit 2 ;;
esac
