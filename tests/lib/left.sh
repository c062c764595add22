# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions to check that programs and connections have left no objects. A test uses them like this:
# check WHAT busywait SECONDS no_qps LINK

# no_objects KIND LINK: succeeds if LINK has no object of this kind (qp, srq, cq, mr, pd) that
# belongs to a process. grep selects the link, because "rdma resource show srq" accepts no filter.
no_objects() { ! rdma resource show "$1" 2>/dev/null | grep "^[a-z]* $2[ /]" | grep -q ' pid '; }
no_qps() { no_objects qp "$1"; }

# check_no_objects SECONDS LINK [WHAT]: checks no_objects for each kind, and waits up to SECONDS for
# each kind; WHAT is the first part of the names of the results
check_no_objects() {
	local kind
	for kind in qp srq cq mr pd; do
		check "${3:+$3: }no $kind is left" busywait "$1" no_objects $kind "$2"
	done
}

# nothing_of PROGRAM LINK: succeeds if LINK in A has no object, of any kind, that belongs to PROGRAM
nothing_of() {
	local kind
	for kind in qp srq cq mr pd; do
		! in_a rdma resource show $kind 2>/dev/null | grep "^[a-z]* $2[ /]" | grep -q "comm $1" || return
	done
}

# no_resources NS LINK: succeeds if LINK in the namespace NS has no objects except completion
# queues: the RDMA core keeps a pool of completion queues for kernel consumers as long as the device
# exists. Prints the number of objects of each kind.
no_resources() {
	local out
	out=$(in_ns "$1" rdma resource show "$2") || return
	echo "$out"
	! grep -Eq '(pd|qp|cm_id|mr|ctx|srq) [1-9]' <<<"$out"
}

# no_link NAME: succeeds if rdma(8) shows no link NAME in this namespace
no_link() { ! rdma_exists "$1"; }

# tcp_has NAME: prints the number that /proc/net/sockstat shows as NAME for TCP. "alloc" counts all
# TCP sockets of this machine, including sockets that are in no hash table any more.
tcp_has() { awk -v what="$1" '/^TCP:/ { for (i = 2; i < NF; i += 2) if ($i == what) print $(i + 1) }' /proc/net/sockstat; }

# no_more_sockets N: does this machine have at most N TCP sockets?
no_more_sockets() { [ "$(tcp_has alloc)" -le "$1" ]; }
