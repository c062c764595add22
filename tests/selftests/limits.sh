#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests that requests which verbs refuse have no effect, that a control group is charged for queues,
# and the limits of control groups, of RLIMIT_MEMLOCK and of the device. IWT_MAX=pd,cq,srq,qp,mr,mw
# lists the limits of the device to test; these tests need much memory and time.
. "$(dirname "$0")/../lib/begin.sh"

ENOMEM=12 EAGAIN=11

# limits PREFIX OPTION...: runs iwt_limits; if the array LESS is not empty, runs iwt_limits by the
# command in LESS
limits() {
	local prefix=$1
	shift
	in_a "${LESS[@]}" "$IWT_BIN/iwt_limits" "$DEV_A" "$@" >"$TMP/limits" 2>&1
	subtests "$prefix" "$TMP/limits" $?
}

nothing_charged() { ! grep -q "$DEV_A .*hca_\(handle\|object\)=[1-9]" "$CG/rdma.current"; }

begin iwt_verbs iwt_limits iwt_attrs rdma
trap 'cleanup; cg_del' EXIT
two_links

in_a "$IWT_BIN/iwt_verbs" "$DEV_A" >"$TMP/verbs" 2>&1
subtests verbs "$TMP/verbs" $?
tap "sizes" in_a "$IWT_BIN/iwt_attrs" "$DEV_A"

# iwt_limits makes queues whose rings have 1024 entries, 9 pages of 4 KiB. 1 MiB is enough for 20 to
# 28 completion queues or shared receive queues, or 8 to 16 queue pairs.
LESS=(prlimit --memlock=1048576:1048576 setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock)
limits "RLIMIT_MEMLOCK, completion queues" some cq $ENOMEM 20 28 1000
! has_feature SRQ || limits "RLIMIT_MEMLOCK, shared receive queues" some srq $ENOMEM 20 28 1000
limits "RLIMIT_MEMLOCK, queue pairs" some qp $ENOMEM 8 16 1000
LESS=()

if cg_has rdma; then
	check "a group for RDMA" cg_add rdma
	echo "$DEV_A hca_handle=1 hca_object=10" >"$CG/rdma.max"
	for kind in cq pd; do
		"${GROUPED[@]}" "$IWT_BIN/iwt_limits" "$DEV_A" some $kind $EAGAIN 10 10 >"$TMP/limits" 2>&1
		subtests "group for RDMA, $kind" "$TMP/limits" $?
	done
	check "no object stays charged" busywait "$IWT_TIME" nothing_charged
	echo "$DEV_A hca_handle=0 hca_object=max" >"$CG/rdma.max"
	# The RDMA core leaks a reference to a task when it refuses to give the task a context
	if [ -e /sys/kernel/debug/kmemleak ]; then
		skip "group for RDMA: no context" "kmemleak would find the leak of the RDMA core"
	else
		refuse "group for RDMA: no context" "${GROUPED[@]}" "$IWT_BIN/iwt_limits" "$DEV_A" some cq $EAGAIN 10 10
	fi
	cg_del
else
	skip "a group for RDMA" "this kernel has no such control groups"
fi

# The limit of the group is 64 MiB (cg_memory 64M). In the tests below, a completion queue has a
# ring of 32 MiB, a shared receive queue has a ring of 8 MiB, and a send queue needs 1.4 MiB of
# memory. When the group reaches the limit, the kernel kills the process or refuses its request.
# at_limit: has the group reached its limit?
at_limit() { grep -q '^max [1-9]' "$CG/memory.events"; }
# bounded KIND OBJECTS ENTRIES: creates queues of ENTRIES entries in the group until the kernel
# refuses a queue or kills the process; fails if more than OBJECTS queues can be created, or if the
# group did not reach its limit
bounded() {
	local rc
	"${GROUPED[@]}" "$IWT_BIN/iwt_limits" "$DEV_A" some "$1" $ENOMEM 0 "$2" "$3"
	rc=$?
	{ [ $rc -eq 0 ] || [ $rc -eq 137 ]; } && at_limit
}
if cg_has memory; then
	for try in "cq 2 1048576" "srq 9 262144" "qp 50 16384"; do
		[ "${try%% *}" != srq ] || has_feature SRQ || continue
		check "a group for memory" cg_memory 64M
		# shellcheck disable=SC2086
		check "the group is charged, ${try%% *}" bounded $try
		cg_del
	done
else
	skip "a group for memory" "this kernel has no such control groups"
fi

IWT_MAX=${IWT_MAX:-}
for kind in ${IWT_MAX//,/ }; do
	began=$SECONDS
	limits "the device's $kind" max $kind
	echo "# $((SECONDS - began)) s"
	check "the device's $kind: nothing is left" busywait "$IWT_TIME" nothing_of iwt_limits "$DEV_A"
done
check "nothing is left" busywait "$IWT_TIME" nothing_of iwt_limits "$DEV_A"
ktap_finish
