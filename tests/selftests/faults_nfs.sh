#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NFS over RDMA while allocations of this driver fail. The test mounts, uses and unmounts a file
# system again and again. Only allocations of the driver, and of functions that the driver calls,
# fail, at either end: in the first run the first allocation, in later runs a later allocation,
# until no allocation fails in two runs in a row. A mount may fail, but the next mount must succeed;
# data that were written must be read back unchanged; nothing may hang. The laboratory's gate and
# kmemleak check that nothing is left. next() chooses the allocations that fail. With
# IWT_FAULTS=all, these are the first hundred allocations and every eleventh allocation of the rest,
# otherwise fewer.
. "$(dirname "$0")/../lib/begin.sh"
. "$(dirname "$0")/../lib/nfs.sh"

FAILSLAB=/sys/kernel/debug/failslab
MOST=20000

begin iwt_faultnth rping rdma
only_iw_tcp "allocations of other drivers are not made to fail"
if [ ! -e $FAILSLAB/require-start ]; then
	! grep -qs 'LAB="debug"' /opt/iw_tcp/vm/run.env || missing_all "fault injection by module"
	skip_all "no fault injection by module in this kernel"
fi
want_modules "${NFS_MODULES[@]}" || skip_all "this kernel has no NFS over RDMA"
require rpc.nfsd mount.nfs

nfs=$(realpath "$(dirname "$0")/../lib/nfs_roles.sh")

# client COMMAND...: runs COMMAND on the host of the NFS client (B, with a mount namespace of its
# own)
client() { nsenter -t "$HOLD" -m -n iwt_patient "$IWT_TIME" "$@"; }
host_is_ready() { client mkdir -p $NFS_AT; }

mounted() { client grep -q " $NFS_AT .*proto=rdma" /proc/mounts; }

# The commands in which an allocation may fail. $FAULT is empty, or a command that runs another
# command and makes an allocation of the driver fail meanwhile.
mount_it() { $FAULT nsenter -t "$HOLD" -m -n iwt_patient "$IWT_TIME" mount.nfs $NFS_FROM $NFS_AT \
	-o "$NFS_OPTIONS"; }
umount_it() { $FAULT nsenter -t "$HOLD" -m -n iwt_patient "$IWT_TIME" umount $NFS_AT; }
# Writes a file through the page cache and reads the file without the page cache, so that NFS sends
# each byte and reads each byte back
use_it() {
	# shellcheck disable=SC2016
	$FAULT nsenter -t "$HOLD" -m -n iwt_patient "$IWT_TIME" bash -c '
		dd if="$0" of="$1" bs=64k conv=fsync status=none &&
			dd if="$1" iflag=direct bs=1M status=none | cmp - "$0"' "$TMP/data" $NFS_AT/data
}
other_data() { head -c 300000 /dev/urandom >"$TMP/data"; }

# with KIND N COMMAND: runs COMMAND while the N-th allocation of this KIND (slabs or pages) fails.
# Sets RC to COMMAND's status, and FAILED to "" if no allocation failed. Returns an error if RC is
# 60 or more: then iwt_patient has ended COMMAND (the status 124 minus 64 is 60), or COMMAND was
# killed, or COMMAND could not be run.
with() {
	local FAULT="$IWT_BIN/iwt_faultnth $1 iw_tcp $2"
	FAILED=1
	"$3"
	RC=$?
	if [ "$RC" -ge 64 ] && [ "$RC" -lt 128 ]; then FAILED='' RC=$((RC - 64)); fi
	[ "$RC" -lt 60 ]
}

# step_mount, step_use, step_umount KIND N: do one step while the N-th allocation fails, and check
# the result; "said" counts steps that reported the failure. Outside of with(), FAULT is empty, so
# no allocation fails.
FAULT=
step_mount() {
	with "$1" "$2" mount_it || return
	if [ "$RC" != 0 ]; then
		said=$((said + 1))
		mount_it || return
	fi
	mounted && other_data && use_it && umount_it
}
step_use() {
	mount_it && mounted && other_data && with "$1" "$2" use_it && [ "$RC" = 0 ] &&
		other_data && use_it && umount_it
}
step_umount() {
	mount_it && other_data && use_it && with "$1" "$2" umount_it || return
	if [ "$RC" != 0 ]; then
		said=$((said + 1))
		umount_it
	fi
}

# next N: prints the number of the allocation that fails in the run after the N-th allocation has
# failed. A mount makes thousands of allocations, most of them for its memory regions.
next() {
	if [ "${IWT_FAULTS:-}" != all ]; then
		echo $(($1 * 3 + 1))
	elif [ "$1" -lt 100 ]; then
		echo $(($1 + 1))
	else
		echo $(($1 + 11))
	fi
}

# faults STEP KIND: repeats the step, each time with a later allocation that fails, until no
# allocation fails. KIND: slabs, or pages
faults() {
	local n=1 fails=0 said=0 calm=0 what="$1: $2"
	# The loop ends after two runs without a fault: one such run is not enough, because
	# allocations of another processor may be counted, too
	while [ "$n" -le $MOST ] && [ $calm -lt 2 ]; do
		if ! "step_$1" "$2" $n >"$TMP/step" 2>&1; then
			not_ok "$what: number $n"
			echo "# status $RC${FAILED:+, one failed}"
			tail -n 8 "$TMP/step" | diag
			return 1
		fi
		if [ -n "$FAILED" ]; then
			fails=$((fails + 1)) calm=0 n=$(next "$n")
		else
			calm=$((calm + 1))
		fi
	done
	echo "# $what: $fails allocations failed, of $n; $said times the step reported it"
	if [ $fails -gt 0 ]; then
		ok "$what"
	elif [ "$2" = pages ]; then
		skip "$what" "no page of the system was used"
	else
		not_ok "$what: no allocation failed"
	fi
}

serving() { [ "$(cat "$TMP/started" 2>/dev/null)" = 0 ]; }
stop_server() {
	touch "$TMP/stop"
	ended "$server"
}

two_links
start ip netns exec "$NS_A" unshare -m bash "$nfs" server "$TMP" >"$TMP/server.log" 2>&1
server=$PID
start ip netns exec "$NS_B" unshare -m sleep 100000
HOLD=$PID
if check "the server is there" busywait "$IWT_TIME" serving && check "the client's host" busywait 20 host_is_ready; then
	other_data
	check "before the faults: mount" mount_it
	check "before the faults: write and read" use_it
	check "before the faults: unmount" umount_it
	for step in mount use umount; do
		for kind in slabs pages; do faults $step $kind || break 2; done
	done
	check "after the faults: mount" mount_it
	check "after the faults: write and read" use_it
	check "after the faults: unmount" umount_it
fi
check "the server stops" stop_server || diag <"$TMP/server.log"
check "nothing of the server is left" busywait 20 no_resources "$NS_A" "$DEV_A"
check "nothing of the client is left" busywait 20 no_resources "$NS_B" "$DEV_B"
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V"
ktap_finish
