#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2034 # for choice.sh
# nfs-traffic.sh DIR SEED: runs in its own mount namespace. Mounts the directory that
# lib/nfs_roles.sh serves, writes files, reads the files and compares their contents, until the
# file DIR/stop-client exists. Writes the number of completed rounds to DIR/nfs, and errors to
# DIR/nfs-wrong. While the file DIR/pause exists, this script waits between two rounds, and makes
# the file DIR/nfs-paused. Fails if it cannot mount the directory, or if DIR/nfs-wrong exists at
# the end (soak.sh removes the file after it has reported the errors).
dir=$1 SOAK=$1 LANE=nfs
shopt -s nullglob
. "$(dirname "$0")/choice.sh"
. "$(dirname "$0")/../lib/wait.sh"
. "$(dirname "$0")/../lib/nfs.sh"

# wrong WORD...: notes what is wrong, with the end of the failed command's output
wrong() {
	echo "$*" >>"$dir/nfs-wrong"
	tail -n 2 "$dir/nfs-log" | cut -c 1-200 >>"$dir/nfs-wrong"
}

# When the network is unreachable for a moment, newer kernels give up a mount outside the initial
# namespace; with this option the mount waits (neterrors.sh tests this). Older kernels always wait,
# and do not know the option.
WAITS=,fatal_neterrors=none

# mount_anew: mounts, with random sizes of requests
mount_anew() {
	one_of rsize=65536,wsize=65536 rsize=1048576,wsize=1048576 rsize=4096,wsize=8192
	for _ in {1..20}; do
		# the mount may fail because a net device is down at this moment
		nfs_mount 120 ",$PICK$WAITS" >"$dir/mount" 2>&1 && nfs_mounted && return
		cat "$dir/mount"
		! grep -q 'incorrect mount option' "$dir/mount" || WAITS=
		nap 2
	done
	wrong "mount"
	# if the mount failed, the files would be written to another file system
	exit 1
}

# compare FILE: reads the file, with or without the page cache, and compares it with what was
# written
compare() {
	local how=()
	one_of '' iflag=direct
	[ -z "$PICK" ] || how=("$PICK")
	dd if="$NFS_AT/$1" bs=256k "${how[@]}" status=none | cmp - "$dir/data/$1" || wrong "$1 is not what was written"
}

# write NAME: writes a file; from now on each round compares this file. After a failed write the
# file is not compared any more, because a part of it may have been written.
write() {
	local how=()
	one_of '' oflag=direct
	[ -z "$PICK" ] || how=("$PICK")
	# direct I/O over NFS allows an odd size of the last block
	if dd if="$dir/new" of="$NFS_AT/$1" bs=64k conv=fsync "${how[@]}" status=none; then
		mv "$dir/new" "$dir/data/$1"
	else
		wrong "write of $1"
		rm -f "$dir/data/$1"
	fi
}

# there_and_back NAME: renames the file and back
there_and_back() { mv "$NFS_AT/$1" $NFS_AT/moved && mv $NFS_AT/moved "$NFS_AT/$1"; }

one_round() {
	local name
	number 0 3
	name=file$PICK
	number 1 300
	head -c $((PICK * 4099)) /dev/urandom >"$dir/new"
	write "$name"
	if chance 30; then
		umount $NFS_AT || wrong "umount"
		mount_anew
	fi
	for name in "$dir"/data/*; do compare "${name##*/}"; done
	chance 20 && [ -e "$dir/data/file0" ] && { there_and_back file0 || wrong "another name"; }
	return 0
}

mkdir -p $NFS_AT "$dir/data"
seed "$2" nfs
mount_anew >"$dir/nfs-log" 2>&1
n=0
while [ ! -e "$dir/stop-client" ]; do
	if [ -e "$dir/pause" ]; then
		: >"$dir/nfs-paused"
		nap 0.2
		continue
	fi
	rm -f "$dir/nfs-paused"
	one_round >"$dir/nfs-log" 2>&1
	echo $((++n)) >"$dir/nfs.new"
	mv "$dir/nfs.new" "$dir/nfs"
done
umount $NFS_AT || wrong "umount at the end"
[ ! -e "$dir/nfs-wrong" ]
