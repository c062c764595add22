# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Loads and uses modules of tests/modules: iwt_ktest is a kernel consumer that connects A and B,
# iwt_held acts on the sockets of processes at bad moments, and iwt_slow delays kernel functions.

KTEST=/sys/kernel/debug/iwt_ktest

# ktest_load: loads iwt_ktest; fails if there is no such module, or no debugfs
ktest_load() { modprobe -q iwt_ktest && [ -d $KTEST ]; }
# ktest_need: loads iwt_ktest. If the module is missing, the test fails in a laboratory, and is
# skipped elsewhere. Without debugfs the test is skipped.
ktest_need() {
	modprobe -q iwt_ktest || missing_all "module iwt_ktest"
	[ -d $KTEST ] || skip_all "no debugfs here"
}

# ktest GROUP [MODE]: runs a group of iwt_ktest's tests; MODE is the way in which iwt_ktest reads
# completions (default: direct). The file descriptors 8 and 9 tell iwt_ktest the namespaces A and B.
ktest() {
	echo "$1 ${2:-direct} 8 9 $IP_A $IP_B" 8<"/run/netns/$NS_A" 9<"/run/netns/$NS_B" >$KTEST/run
}

# ktest_results WHAT: reports the results of the last group as results of this test
ktest_results() {
	cat $KTEST/results >"$TMP/results"
	subtests "$1" "$TMP/results" $?
}

# ktest_unload: unloads iwt_ktest, and fails if the module is still loaded then
ktest_unload() { modprobe -r iwt_ktest && [ ! -d /sys/module/iwt_ktest ]; }

HELD=/sys/kernel/debug/iwt_held/ctl

# held_need: loads iwt_held. A test sends requests to iwt_held by writing to the file $HELD. If the
# module or debugfs is missing, the test fails in a laboratory, and is skipped elsewhere. (A command
# that "ip netns exec" starts cannot write to $HELD, because "ip netns exec" mounts a new /sys
# without debugfs.)
held_need() {
	modprobe -q iwt_held || missing_all "module iwt_held"
	[ -e $HELD ] || missing_all "debugfs"
}

# slow_down PARAMETER...: loads iwt_slow with these module parameters, such as the names of the
# functions to delay. Does nothing on kernels without kernel probes. On other kernels loading must
# succeed: if the kernel has no function of such a name, the test would run without the delay.
slow_down() {
	if grep -qw register_kretprobe /proc/kallsyms; then
		check "functions of the kernel are slow: $*" modprobe iwt_slow "$@"
	else
		echo "# no probes in this kernel"
	fi
}
