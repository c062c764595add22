#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes memory allocations fail, one after the other: the allocations that the module makes when the
# kernel loads it, for a link, for an object, for a connection and for data (see
# tests/programs/faults/main.c). The laboratory's gate and kmemleak find leaks. In the context of
# the calling process each allocation fails once. In other contexts, and when the kernel loads the
# module, only the first 8 allocations and every eleventh allocation after them fail, unless
# IWT_FAULTS=all.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_faults rping rdma
only_iw_tcp "allocations of other drivers are not made to fail"
want_settings
if [ ! -e /proc/self/fail-nth ] || [ ! -e /sys/kernel/debug/failslab ]; then
	# The kernel of the laboratory "debug" must have fault injection
	! grep -qs 'LAB="debug"' /opt/iw_tcp/vm/run.env || missing_all "fault injection"
	skip_all "no fault injection in this kernel"
fi

modprobe -q iwt_dmabuf || missing_all "module iwt_dmabuf"

stride=11
[ "${IWT_FAULTS:-}" != all ] || stride=1

# Has B's net device been deleted? If a reference to the namespace A is leaked, A's end of the veth
# pair exists for ever, and so does B's end.
peer_is_gone() { ! ip -n "$NS_B" link show "$IF_B"; }

two_namespaces
had=$(tcp_has alloc)
tap faults in_net "$NS_A" iwt_patient $((IWT_TIME * 20)) "$IWT_BIN/iwt_faults" "$DEV_A" "$IF_A" $IP_A $stride
check_no_objects 20 "$DEV_A"
check "no socket is left" busywait 90 no_more_sockets "$had" || in_a ss -tnaie | diag
MADE_DEV+=("$NS_A $DEV_A")
link_add "$NS_B" "$DEV_B" "$IF_B"
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"
link_del "$NS_A" "$DEV_A"
ns_del "$NS_A"
check "nothing refers to the namespace" busywait 60 peer_is_gone
ktap_finish
