#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory regions that are not pinned (on-demand paging): the kernel removes and restores their
# pages, and the streams wait for page faults, some of which never end.
# IWT_ROUNDS: number of random changes (60); IWT_SEED: repeats a run; IWT_QUICK: 10 random changes,
# and iwt_verify without errors and events; IWT_BASIC: leaves out other programs, zero copy and the
# counts of calls, because their results hardly depend on the kernel's version
. "$(dirname "$0")/../lib/begin.sh"
. "$(dirname "$0")/../lib/nvme.sh"

begin iwt_memory iwt_verify iwt_srq rdma python3 ethtool
only_iw_tcp "other software drivers lack some of this"
only_with PAGING
want_settings
two_links
settings_begin
rounds=${IWT_ROUNDS:-60}
[ -z "${IWT_QUICK:-}" ] || rounds=${IWT_ROUNDS:-10}
short=()
[ -z "${IWT_QUICK:-}" ] || short=(--no-neg --no-events)

# swap_on: enables swapping to a RAM disk, so that the kernel can remove pages
swap_on() { nvme_ram 64 && mkswap $NVME_RAM >/dev/null && swapon $NVME_RAM; }
swap_off() {
	swapoff $NVME_RAM && modprobe -r brd
} 2>/dev/null
swapped() { awk '$1 == "pswpout" { print $2 }' /proc/vmstat; }

# Reserve some huge pages for processes. The end of the test restores the old number.
HUGE=/proc/sys/vm/nr_hugepages
huge=$(cat $HUGE 2>/dev/null)
[ -z "$huge" ] || echo $((huge + 8)) >$HUGE
trap 'swap_off; [ -z "$huge" ] || echo $huge >$HUGE; cleanup; cg_del 2>/dev/null' EXIT

# regions WHAT: runs all tests of iwt_memory for on-demand paging
regions() {
	tap "$1" iwt_patient "$((IWT_TIME * 2))" ip netns exec "$NS_A" "$IWT_BIN/iwt_memory" -a $IP_A -t odp \
		-n "$rounds" ${IWT_SEED:+-s "$IWT_SEED"}
}

swap_on 2>/dev/null && swap=$(swapped)
regions "copied"
check "page faults are counted" [ "$(counter "$DEV_A" odp_fault)" -gt 0 ]
check "failed page faults are counted" [ "$(counter "$DEV_A" odp_failed)" -gt 0 ]
check "pages that the kernel removes are counted" [ "$(counter "$DEV_A" odp_invalidate)" -gt 0 ]
if [ -n "${swap:-}" ]; then
	check "pages were swapped out" [ "$(swapped)" -gt "$swap" ]
else
	skip "pages were swapped out" "no RAM disk to swap to here"
fi

if cg_has memory; then
	cg_memory 256M
	# The program reads memory.stat from descriptor 9, because in the /sys of "ip netns exec"
	# the group has no path
	tap "charged" iwt_patient "$IWT_TIME" "${GROUPED[@]}" "$IWT_BIN/iwt_memory" -a $IP_A -t odpcharge -f /dev/fd/9 \
		9<"$CG/memory.stat"
	check "charged: the group can be removed" busywait 20 cg_del
else
	skip "charged: the process is charged for the kernel's objects for its pages" "no control groups for memory"
fi

# part NAME: runs the test "odpNAME" of iwt_memory. The test reads the counters of the link from
# descriptor 9, because the /sys of "ip netns exec" does not have these counters.
part() {
	tap "$1" iwt_patient "$((IWT_TIME * 2))" ip netns exec "$NS_A" "$IWT_BIN/iwt_memory" -a $IP_A -t "odp$1" \
		-f /dev/fd/9 9<"/sys/class/infiniband/$DEV_A/ports/1/hw_counters"
}

# cost: counts the kernel's calls and the waits of long FPDUs. The bytes of a long FPDU arrive in many
# buffers, because TCP's segments are short.
cost() {
	set_links large_fpdus on
	in_a ip link set lo mtu 1500 && in_a ethtool -K lo tso off gso off >/dev/null
	part cost
	in_a ip link set lo mtu 65536 && in_a ethtool -K lo tso on gso on >/dev/null
	set_links large_fpdus off
}

part advice
part many
[ -n "${IWT_BASIC:-}" ] || cost
check_no_objects 20 "$DEV_A"

# ordered KIND: is there exactly one region of this kind (user or odp) with the hint "relaxed
# ordering", and also a region of this kind without the hint? Do both details of each region agree?
ordered() {
	rdma -dd -j resource show mr dev "$DEV_A" | python3 -c '
import json, sys
hints = [(int(str(mr["drv_access"]), 0) >> 20 & 1, mr["drv_relaxed"])
         for mr in json.load(sys.stdin) if mr.get("drv_kind") == sys.argv[1]]
good = set(hints) == {(0, "off"), (1, "on")} and hints.count((1, "on")) == 1
sys.exit(0 if good else f"{sys.argv[1]}: {hints}")' "$1"
}

start in_a "$IWT_BIN/iwt_memory" -a $IP_A -t hold >"$TMP/holds" 2>&1
busywait "$IWT_TIME" grep -q "^# holds" "$TMP/holds" || diag <"$TMP/holds"
check "a pinned region keeps the hint \"relaxed ordering\"" ordered user
check "a region that is not pinned keeps the hint \"relaxed ordering\"" ordered odp
check "a raw dump of such regions" raw_agrees mr "$DEV_A"
stop "$PID"

# unpinned client|server FILE: did the program that wrote FILE have regions that are not pinned?
unpinned() { grep -q "^# unpinned [1-9]" "$2" || { diag <"$2"; return 1; }; }

# others: runs other programs with the library unpinned.so, and all tests of iwt_memory with zero copy.
# The library makes these programs register regions that are not pinned. The library also changes the
# protection of the memory again and again; each time the driver forgets the addresses of the pages.
others() {
	local shim=$IWT_BIN/unpinned.so server client status=0
	LD_PRELOAD=$shim verify_pair "verified" $IP_B --rounds 1 --max-size 20000 "${short[@]}"
	check "verified: the client's regions were not pinned" unpinned client "$TMP/client"
	check "verified: the server's regions were not pinned" unpinned server "$TMP/server"

	start in_b env LD_PRELOAD="$shim" iwt_patient "$((IWT_TIME * 3))" "$IWT_BIN/iwt_srq" -s $IP_B -n 300 >"$TMP/server" 2>&1
	server=$PID
	wait_listen "$NS_B" 7478
	start in_a env LD_PRELOAD="$shim" "$IWT_BIN/iwt_srq" -c $IP_B >"$TMP/client" 2>&1
	client=$PID
	# iwt_patient ends the server if there is no progress
	wait "$server" || status=$?
	subtests "shared receives" "$TMP/server" $status
	check "shared receives: the server's regions were not pinned" unpinned server "$TMP/server"
	check "shared receives: the client ends well" ended "$client"

	with_zerocopy regions "with zero copy"
	check_no_objects 20 "$DEV_A"
}
[ -n "${IWT_BASIC:-}" ] || others

# waiting HOW [ARGUMENT...]: starts the test "odpHOW" of iwt_memory; $waiter is its process. The
# streams of this process wait for page faults (with "advise", a call of ibv_advise_mr waits). These
# page faults do not end, even after the process has exited, as long as another process, $keeper,
# runs. Fails if the kernel has no userfaultfd.
waiting() {
	start in_a "$IWT_BIN/iwt_memory" -a $IP_A -t "odp$1" "${@:2}" >"$TMP/waits" 2>&1
	waiter=$PID
	busywait "$IWT_TIME" grep -Eq "^# (waits|no userfaultfd)" "$TMP/waits" || diag <"$TMP/waits"
	keeper=$(sed -n 's/^# keeper //p' "$TMP/waits")
	[ -n "$keeper" ]
}
# nothing: does A have no object any more, although the keeper still runs?
nothing() { no_resources "$NS_A" "$DEV_A" >"$TMP/left"; }
# another_link: adds a second link to A, whose address is $IP_C
IF_C=i${TAG}c DEV_C=iwt${TAG}c IP_C=10.79.0.1
another_link() {
	ip -n "$NS_A" link add "$IF_C" type dummy && ip -n "$NS_A" addr add $IP_C/24 dev "$IF_C" &&
		ip -n "$NS_A" link set "$IF_C" up && link_add "$NS_A" "$DEV_C" "$IF_C"
}
# no_context LINK...: has no process an open context of these links in A? A context goes only after
# all objects of the context
no_context() {
	local link
	for link; do
		in_a rdma resource show "$link" >"$TMP/left" && grep -q ' ctx 0 ' "$TMP/left" || return
	done
}
is_sleep() { [ "$(cat "/proc/$waiter/comm")" = sleep ]; }

what="page faults that do not end"
if waiting stay; then
	kill -KILL "$waiter"
	check "$what: the process is killed" busywait 20 not alive "$waiter"
	check "$what: the process was killed: nothing is left" busywait 20 nothing || diag <"$TMP/left"
	kill "$keeper"
	check "another link" another_link
	# The keeper has the descriptors of rdma_cm, so only the end of the process's address space ends
	# these connections. But the workers that resolve page faults also use the address space.
	for links in "one link" "two links" "a region that has ended"; do
		case $links in
		"two links") waiting inherit -b $IP_C ;;
		"one link") waiting inherit ;;
		*) waiting left ;;
		esac
		kill -KILL "$waiter"
		check "$what, on $links: the process is killed" busywait 20 not alive "$waiter"
		check "$what, on $links: only the keeper's identifiers are left" busywait 20 no_context "$DEV_A" "$DEV_C" ||
			diag <"$TMP/left"
		kill "$keeper"
		check "$what, on $links: nothing is left" busywait 20 nothing || diag <"$TMP/left"
	done
	check "the other link is deleted" link_del "$NS_A" "$DEV_C"
	waiting exec
	check "$what: the process executes another program" busywait 20 is_sleep
	check "$what: another program: nothing is left" busywait 20 nothing || diag <"$TMP/left"
	stop "$waiter"
	kill "$keeper"
	waiting stay
	check "$what: the link is deleted" link_del "$NS_A" "$DEV_A"
	check "$what: the link was deleted: the process still runs" alive "$waiter"
	stop "$waiter"
	kill "$keeper"
	link_add "$NS_A" "$DEV_A" "$IF_A"
	waiting advise
	check "ibv_advise_mr waits: the link is deleted" link_del "$NS_A" "$DEV_A"
	check "ibv_advise_mr waits: the call ends with the link" busywait 20 grep -q "^# advised: Input/output error" \
		"$TMP/waits" || diag <"$TMP/waits"
	check "ibv_advise_mr waits: the process still runs" alive "$waiter"
	stop "$waiter"
	kill "$keeper"
else
	skip "$what: the process ends, or the link is deleted" "this kernel has no userfaultfd"
fi
settings_end

# unloads: unloads the module; fails if this takes more than a minute
unloads() { iwt_patient 60 modprobe -r iw_tcp; }
# in_use: can the module not be unloaded because it is in use?
in_use() { not unloads 2>"$TMP/unload" && grep -q "is in use" "$TMP/unload" || { diag <"$TMP/unload"; return 1; }; }

# A signal does not end a page fault if a FUSE server has read its request. Such page faults of a
# process that has ended block nothing except the module.
never_end() {
	local server hung=/proc/sys/kernel/hung_task_timeout_secs was
	local program=(ip netns exec "$NS_A" "$IWT_BIN/iwt_memory" -a $IP_A -t odpfile -f "$TMP/stall/file")
	link_add "$NS_A" "$DEV_A" "$IF_A"
	# on a busy machine this part may take longer than the kernel waits before it complains
	was=$(cat $hung 2>/dev/null) && echo 0 >$hung
	mkdir "$TMP/stall"
	start python3 "$IWT_LIB/stall.py" "$TMP/stall" >"$TMP/mounted" 2>&1
	server=$PID
	busywait "$IWT_TIME" grep -q "^# mounted" "$TMP/mounted" || diag <"$TMP/mounted"
	tap "FUSE" iwt_patient "$IWT_TIME" "${program[@]}"
	# the process has exited, but the workers still count for the user
	iwt_patient "$IWT_TIME" "${program[@]}" >"$TMP/regions" 2>&1
	check "FUSE: another process gets no region" grep -q "^# regions: 1$" "$TMP/regions" || diag <"$TMP/regions"
	check "FUSE: the link is deleted" link_del "$NS_A" "$DEV_A"
	! in_laboratory || check "FUSE: the module is in use" in_use
	stop "$server"
	umount "$TMP/stall"
	[ -z "$was" ] || echo "$was" >$hung
}
modprobe -q fuse
if [ -c /dev/fuse ]; then
	never_end
else
	skip "page faults that no signal ends" "this kernel has no FUSE"
fi
# Unloading the module waits for everything that the driver has allocated for page faults
if in_laboratory; then
	check "the module is unloaded" unloads
	MADE_DEV=()
else
	skip "the module is unloaded" "others may need the module here"
fi
ktap_finish
