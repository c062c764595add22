#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Verbs for a consumer in the kernel (the module iwt_ktest): every operation, also atomic ones,
# registrations, refusals, drain and flush, contexts. The consumer reads completions in each way
# that the kernel offers (mode). IWT_KT_GROUPS and IWT_KT_MODES (lists with commas) select groups of
# tests and modes.
. "$(dirname "$0")/../lib/begin.sh"

GROUPS_=${IWT_KT_GROUPS:-data,ext,global,inval,gaps,errors,local,drain,context,locked}
! has_feature SRQ || [ -n "${IWT_KT_GROUPS:-}" ] || GROUPS_=$GROUPS_,srq
MODES=${IWT_KT_MODES:-direct,softirq,workqueue,unbound,handler}

# run_group GROUP MODE: runs one group of tests in one mode
run_group() {
	if ! ktest "$1" "$2" 2>/dev/null; then
		not_ok "$1 ($2): starts"
		return
	fi
	ktest_results "$1 ($2)"
}

begin rdma
ktest_need
two_links
REFUSAL="Invalid argument" refuse "a group that does not exist" ktest nothing
if ! has_feature RESIZE; then
	skip "a completion queue of a kernel consumer is resized" "the driver was built without RESIZE"
elif grep -q ' ib_resize_cq' /proc/kallsyms; then
	[ -n "${IWT_KT_GROUPS:-}" ] || GROUPS_=$GROUPS_,resize
else
	skip "a completion queue of a kernel consumer is resized" "this kernel has no ib_resize_cq()"
fi
for mode in ${MODES//,/ }; do
	for group in ${GROUPS_//,/ }; do run_group "$group" "$mode"; done
done
check "the test module unloads" ktest_unload
ktap_finish
