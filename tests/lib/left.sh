# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Checks that programs and connections leave no objects: "check WHAT busywait SECONDS no_qps
# LINK".

# no_objects KIND LINK: has no process an object of this kind (qp, srq, cq, mr, pd) on LINK? Filters
# the output by grep, because "rdma resource show srq" accepts no filter.
no_objects() { ! rdma resource show "$1" 2>/dev/null | grep "^[a-z]* $2[ /]" | grep -q ' pid '; }
no_qps() { no_objects qp "$1"; }

# check_no_objects SECONDS LINK [WHAT]: checks no_objects for all kinds; waits up to SECONDS for
# each
check_no_objects() {
	local kind
	for kind in qp srq cq mr pd; do
		check "${3:+$3: }no $kind is left" busywait "$1" no_objects $kind "$2"
	done
}

# nothing_of PROGRAM LINK: has PROGRAM no object of any kind on LINK, which is in A?
nothing_of() {
	local kind
	for kind in qp srq cq mr pd; do
		! in_a rdma resource show $kind 2>/dev/null | grep "^[a-z]* $2[ /]" | grep -q "comm $1" || return
	done
}

# no_resources NS LINK: is no object of the link in use? Ignores completion queues: the RDMA core
# keeps a pool of them for kernel consumers as long as the device exists.
no_resources() {
	local out
	out=$(in_ns "$1" rdma resource show "$2") || return
	echo "$out"
	! grep -Eq '(pd|qp|cm_id|mr|ctx|srq) [1-9]' <<<"$out"
}

# no_link NAME: does this namespace show no such link?
no_link() { ! rdma_exists "$1"; }

# tcp_has NAME: prints the number NAME that /proc/net/sockstat shows for TCP. "alloc" counts all
# sockets of this machine, including those that no lookup finds any more.
tcp_has() { awk -v what="$1" '/^TCP:/ { for (i = 2; i < NF; i += 2) if ($i == what) print $(i + 1) }' /proc/net/sockstat; }

# no_more_sockets N: are there at most N sockets?
no_more_sockets() { [ "$(tcp_has alloc)" -le "$1" ]; }
