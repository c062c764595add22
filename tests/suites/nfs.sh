#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NFS over RDMA between two hosts, as Documentation/applications/nfs.rst describes it: versions 3,
# 4.0 and 4.2, over IPv4 and IPv6 (with --quick only versions 3 and 4.2 over IPv4). Tests large and
# small files, locks and fsync, restarts the server and interrupts the path while the client writes,
# and compares the speed with the speed of NFS over TCP.
. "$(dirname "$0")/lib.sh"

MB=$(if_quick 4 64) FILES=$(if_quick 40 400)
MANY=$here/nfs_files.py
# A sed script for the recipe "mount". It adds the option timeo=50, so that the client repeats a
# request after 5 seconds, and removes the lines that check the output. Like every hard mount, the
# mount waits for a lost server.
HARD="s/vers=4.2/&,timeo=50/;/^grep/d"

# nfsd: starts the threads of the kernel's NFS server
nfsd() { on server rpc.nfsd -G 10 -L 10 4; }

server_begin() {
	mkdir -p /run/rpc_pipefs
	on server sh -c 'mkdir -p /run/rpcbind /run/rpc_pipefs /var/lib/nfs/nfsdcld /var/lib/nfs/sm &&
		touch /var/lib/nfs/etab /var/lib/nfs/rmtab && mount -t nfsd nfsd /proc/fs/nfsd &&
		mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs' || return
	daemon server rpcbind -f -w
	busywait 20 on server rpcinfo -p || return
	daemon server nfsdcld --foreground
	daemon server rpc.statd -F --no-notify
	daemon server rpc.mountd --foreground
	busywait 20 on server sh -c 'rpcinfo -p | grep -q mountd && rpcinfo -p | grep -q status' || return
	nfsd
}

client_begin() {
	on client mkdir -p /run/rpcbind /var/lib/nfs/sm || return
	daemon client rpcbind -f -w
	busywait 20 on client rpcinfo -p || return
	daemon client rpc.statd -F --no-notify
	busywait 20 on client sh -c 'rpcinfo -p | grep -q status'
}

server_end() {
	on server sh -c 'rpc.nfsd 0; exportfs -au; umount /proc/fs/nfsd'
}

# remount NAME [SED-SCRIPT]: unmounts, drops the page cache of the client, and mounts again
remount() { cook client umount && on client sh -c 'echo 3 >/proc/sys/vm/drop_caches' && cook client "$@"; }

# write_all: writes a large file and many small files
# read_all: reads these files at the client and at the server, compares their contents with the
# written data, and removes the files
write_all() { on client python3 "$MANY" write /mnt/all 7 $MB $FILES; }
read_all() {
	on client python3 "$MANY" check /mnt/all 7 $MB $FILES && verified $((MB << 20)) &&
		on server python3 "$MANY" check /srv/all 7 $MB $FILES && on client rm -r /mnt/all
}

# by_rdma read|write: did this mount read (or write) at least the bytes of the large file, and did
# the server use RDMA Writes (or Reads) for this? "xprt: rdma" counts the chunks of memory that the
# client offered to the server for RDMA Writes and Reads.
by_rdma() {
	# shellcheck disable=SC2016
	on client awk -v read="$([ "$1" = read ] && echo 1)" -v least=$((MB << 20)) '
		/ mounted on / { mine = $5 == "/mnt" }
		mine && $1 == "bytes:" { bytes = read ? $6 : $7 }
		mine && $1 == "xprt:" && $2 == "rdma" { chunks += read ? $14 : $13 }
		END { print bytes + 0, "bytes,", chunks + 0, "chunks"; exit bytes < least || !chunks }' \
		/proc/self/mountstats
}

# version WHAT RECIPE [SED-SCRIPT]: mounts by RECIPE, and runs all tests of files and locks
version() {
	follow "$1: mount" client "$2" "${3:-}" || return
	check "$1: the mount uses RDMA" on client grep -q 'proto=rdma' /proc/mounts
	look client
	check "$1: write a large and many small files" write_all
	check "$1: the data were written by RDMA" by_rdma write
	check "$1: mount again" remount "$2" "${3:-}"
	check "$1: read the files, and compare them with the server's" read_all
	check "$1: the data were read by RDMA" by_rdma read
	check "$1: a lock of the client holds at the server" locks
	check "$1: unmount" cook client umount
}

# locks: checks that the server can't lock a range that the client has locked, until the client
# unlocks this range
locks() {
	local pid
	on client sh -c 'rm -f /run/locked; echo >/mnt/lock' || return
	daemon client python3 -c 'import fcntl, time
f = open("/mnt/lock", "r+b")
fcntl.lockf(f, fcntl.LOCK_EX, 10, 5)
open("/run/locked", "w")
while True: time.sleep(1)'
	pid=$PID
	busywait 30 on client test -e /run/locked || { stop "$pid"; return 1; }
	on server python3 - <<'P' || { stop "$pid"; return 1; }
import fcntl
f = open("/srv/lock", "r+b")
fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 0)
try:
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 14)
except BlockingIOError:
    pass
else:
    raise SystemExit("the server got the client's range")
P
	stop "$pid"
	busywait 30 on server python3 -c 'import fcntl
fcntl.lockf(open("/srv/lock", "r+b"), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 14)'
}

# under_load WHAT COMMAND...: runs COMMAND while the client writes with fsync. Afterwards the
# server must have all the data. (The function does not use WHAT, the name of the disturbance.)
under_load() {
	local pid rc=0
	on client rm -f /run/wrote
	daemon client python3 "$MANY" steady /mnt/steady 3 /run/wrote /run/enough
	pid=$PID
	busywait 30 on client test -s /run/wrote && "${@:2}" || rc=$?
	progress || rc=1
	on client touch /run/enough
	ended "$pid" $((IWT_TIME * 2)) || { echo "the writer failed: $?"; rc=1; }
	on client rm -f /run/enough
	verified "$(on server stat -c %s /srv/steady)"
	on server python3 "$MANY" steady-check /srv/steady 3 && return $rc
}

# more BLOCKS: has the writer written more than this number of blocks? progress: waits until the
# writer has written another block
more() { [ "$(on client stat -c %s /run/wrote)" -gt "$1" ]; }
progress() { busywait $((IWT_TIME * 2)) more "$(on client stat -c %s /run/wrote)"; }

# restart: restarts the server. Clients can't reach the server meanwhile, as during a reboot. (If a
# client connects while the server ends, "rdma link del" may later not return: see the user guide,
# "rdma link del does not return".)
restart() {
	wire down && halt && nap 1 && nfsd &&
		on server sh -c 'echo rdma 20049 >/proc/fs/nfsd/portlist' && wire up
}
# halt: ends nfsd. If the path failed during an RDMA Read, nfsd of older kernels ends only after
# the timeout of TCP, which takes minutes. Turn off the warning about hung tasks meanwhile.
halt() {
	local limit=/proc/sys/kernel/hung_task_timeout_secs was='' rc=0
	[ ! -e $limit ] || { was=$(<$limit) && echo 0 >$limit; }
	on server rpc.nfsd 0 || rc=$?
	[ -z "$was" ] || echo "$was" >$limit
	return $rc
}
# wire up|down: sets the server's end of the veth pair up or down
wire() { ip -n "$NS_B" link set "$IF_B" "$1"; }

# restarts N: restarts the server N times, each time after the writer has made progress
restarts() {
	local n
	for ((n = 0; n < $1; n++)); do restart && progress || return; done
}

# interrupted SECONDS: sets the server's end of the veth pair down for SECONDS
interrupted() { wire down && nap "$1" && wire up; }

# speed [SED-SCRIPT]: mounts by the recipe "mount", changed by SED-SCRIPT, and sets TOOK to the
# microseconds to write and read MB megabytes: the shortest time of five rounds (with --quick of one
# round)
speed() {
	local round best=
	on client sh -c "head -c ${MB}M /dev/urandom >/run/source" && cook client mount "$1" || return
	for ((round = 0; round < $(if_quick 1 5); round++)); do
		transfer "$1" || return
		[ -n "$best" ] && [ "$best" -lt $TOOK ] || best=$TOOK
		verified $((MB << 20))
	done
	TOOK=$best
	cook client umount
}
transfer() {
	local wrote
	seconds on client dd if=/run/source of=/mnt/speed bs=1M conv=fsync && wrote=$TOOK &&
		remount mount "$1" && seconds on client cmp /run/source /mnt/speed && TOOK=$((TOOK + wrote))
}

suite_begin rpc.nfsd mount.nfs rpcbind
want_modules rpcrdma nfsd nfs nfsv3 nfsv4 || skip_all "this kernel has no NFS over RDMA"
if ! check "two hosts" two_hosts_with_mounts; then suite_finish; fi
check "the server begins" server_begin || diag <"$TMP/daemons"
check "the client begins" client_begin || diag <"$TMP/daemons"
follow "the server listens for RDMA" server listen
follow "the server exports to IPv6, too" server export-ipv6

version "4.2" mount
version "3" mount-v3
if [ -z "$QUICK" ]; then
	version "4.0" mount "s/vers=4.2/vers=4.0/;/^grep/d"
	version "4.2 over IPv6" mount-ipv6
	version "4.0 over IPv6" mount-ipv6 "s/vers=4.2/vers=4.0/"
	version "3 over IPv6" mount-v3 "s/proto=rdma/&6/;s/mountproto=tcp/mountproto=tcp6/;s/192.0.2.1:/[2001:db8::1]:/"
fi

# Outside of the initial network namespace, newer kernels wait for a lost server only with
# fatal_neterrors=none
if on client mount -o vers=4.2,proto=rdma,port=20049,fatal_neterrors=none 192.0.2.1:/srv /mnt 2>/dev/null; then
	HARD="s/vers=4.2/&,fatal_neterrors=none,timeo=50/;/^grep/d"
	cook client umount
fi
check "a mount that waits" cook client mount "$HARD"
check "writes with fsync, and the server restarts" under_load restart restart
[ -n "$QUICK" ] || check "writes with fsync, and the server restarts five times" under_load restart restarts 5
check "writes with fsync, and the path is interrupted for 3 seconds" under_load path interrupted 3
[ -n "$QUICK" ] || check "writes with fsync, and the path is interrupted for 20 seconds" under_load path interrupted 20
check "unmount" cook client umount

check "the time over TCP" speed "s/proto=rdma,port=20049/proto=tcp/;/^grep/d" && tcp=$TOOK
check "the time over RDMA" speed "" && ratio "$tcp" "$TOOK"
follow "mount before the end" client mount && follow "unmount before the end" client umount
check "the server ends" server_end
check "no RDMA resource of the server is left" left_over "$NS_B" "$DEV_B"
check "no RDMA resource of the client is left" left_over "$NS_A" "$DEV_A"
check "the links are deleted" hosts_end
suite_finish
