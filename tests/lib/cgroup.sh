# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for a control group, $CG, in which a test runs programs.

CG_TOP=/sys/fs/cgroup
CG=$CG_TOP/iwt$$

# cg_has CONTROLLER: does this kernel have the controller?
cg_has() { grep -qw "$1" $CG_TOP/cgroup.controllers 2>/dev/null; }

# cg_add CONTROLLER: makes the group, and enables CONTROLLER for the group
cg_add() { echo "+$1" >$CG_TOP/cgroup.subtree_control && mkdir -p $CG; }

# cg_memory LIMIT: makes the group with a memory limit of LIMIT bytes and without swap
cg_memory() {
	cg_add memory && echo "$1" >"$CG/memory.max" || return
	[ ! -e "$CG/memory.swap.max" ] || echo 0 >"$CG/memory.swap.max"
}

# cg_del: deletes the group; fails while a process is in the group
cg_del() { [ ! -d $CG ] || rmdir $CG; }

# "${GROUPED[@]}" COMMAND...: runs COMMAND in the group and in the namespace A. A shell joins the
# group and then executes COMMAND, so the resources of the test itself are not charged to the
# group.
# shellcheck disable=SC2034,SC2016
GROUPED=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CG" ip netns exec "$NS_A")
