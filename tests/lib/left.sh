# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Checks that programs and connections leave no objects: "check WHAT busywait SECONDS no_qps
# LINK".

# no_objects KIND LINK: no process has an object of this kind (qp, srq, cq, mr, pd) on LINK.
# Filters the output, because "rdma resource show srq" accepts no filter.
no_objects() { ! rdma resource show "$1" 2>/dev/null | grep "^[a-z]* $2[ /]" | grep -q ' pid '; }
no_qps() { no_objects qp "$1"; }

# check_no_objects SECONDS LINK [WHAT]: the same for all kinds
check_no_objects() {
	local kind
	for kind in qp srq cq mr pd; do
		check "${3:+$3: }no $kind is left" busywait "$1" no_objects $kind "$2"
	done
}

# nothing_of PROGRAM LINK: A's namespace shows no object of PROGRAM, of any kind
nothing_of() {
	local kind
	for kind in qp srq cq mr pd; do
		! in_a rdma resource show $kind 2>/dev/null | grep "^[a-z]* $2[ /]" | grep -q "comm $1" || return
	done
}

# no_resources NS LINK: no objects of the link are in use, except completion queues: the RDMA core
# keeps those that it pools for kernel consumers as long as the device exists.
no_resources() {
	local out
	out=$(in_ns "$1" rdma resource show "$2") || return
	echo "$out"
	! grep -Eq '(pd|qp|cm_id|mr|ctx|srq) [1-9]' <<<"$out"
}

# no_link NAME: this namespace shows no such link
no_link() { ! rdma_exists "$1"; }

# tcp_has NAME: prints the number NAME that /proc/net/sockstat shows for TCP. "alloc" counts all
# sockets of this machine, including those that no lookup finds any more.
tcp_has() { awk -v what="$1" '/^TCP:/ { for (i = 2; i < NF; i += 2) if ($i == what) print $(i + 1) }' /proc/net/sockstat; }

# no_more_sockets N: there are at most N sockets
no_more_sockets() { [ "$(tcp_has alloc)" -le "$1" ]; }
