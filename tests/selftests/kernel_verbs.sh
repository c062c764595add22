#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A consumer in the kernel: every operation, atomic ones, registrations, refusals, drain and
# flush, contexts; completions in each way the kernel has to reap them.
# IWT_KT_GROUPS and IWT_KT_MODES, with commas, narrow it down.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"

DIR=/sys/kernel/debug/iwt_ktest
GROUPS_=${IWT_KT_GROUPS:-data,ext,global,inval,errors,local,drain,context}
MODES=${IWT_KT_MODES:-direct,softirq,workqueue,unbound,handler}

# run_group GROUP MODE
run_group() {
	if ! echo "$1 $2 8 9 $IP_A $IP_B" 2>/dev/null >$DIR/run; then
		not_ok "$1 ($2): starts"
		return
	fi
	cat $DIR/results >"$TMP/results"
	subtests "$1 ($2)" "$TMP/results" $?
}

# quit: nothing is left of it
unload() { modprobe -r iwt_ktest && [ ! -d /sys/module/iwt_ktest ]; }

require rdma
require_type "$IWT_LINK_TYPE"
modprobe -q iwt_ktest || missing_all "module iwt_ktest"
[ -d $DIR ] || skip_all "no debugfs here"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
exec 8<"/run/netns/$NS_A" 9<"/run/netns/$NS_B"
REFUSAL="Invalid argument" refuse "a group that is not there" bash -c "echo 'nothing direct 8 9 $IP_A $IP_B' >$DIR/run"
for mode in ${MODES//,/ }; do
	for group in ${GROUPS_//,/ }; do run_group "$group" "$mode"; done
done
exec 8<&- 9<&-
check "the test module unloads" unload
ktap_finish
