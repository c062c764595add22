# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The test's own control group, $CG.

CG_TOP=/sys/fs/cgroup
CG=$CG_TOP/iwt$$

# cg_has CONTROLLER: does this kernel have it?
cg_has() { grep -qw "$1" $CG_TOP/cgroup.controllers 2>/dev/null; }

# cg_add CONTROLLER: makes the group, controlled by CONTROLLER
cg_add() { echo "+$1" >$CG_TOP/cgroup.subtree_control && mkdir -p $CG; }

# cg_memory LIMIT: makes a group for memory, without swap
cg_memory() {
	cg_add memory && echo "$1" >"$CG/memory.max" || return
	[ ! -e "$CG/memory.swap.max" ] || echo 0 >"$CG/memory.swap.max"
}

# cg_del: deletes the group; fails while a process is in it
cg_del() { [ ! -d $CG ] || rmdir $CG; }

# "${GROUPED[@]}" COMMAND...: runs COMMAND in the group and in A. A shell joins the group, then
# becomes COMMAND, so that the group is charged for nothing of the test itself.
# shellcheck disable=SC2034,SC2016
GROUPED=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CG" ip netns exec "$NS_A")
