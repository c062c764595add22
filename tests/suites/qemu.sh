#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages: qemu-system-x86
# Live migration of QEMU over RDMA, as Documentation/applications/qemu.rst describes it. The guest
# changes its memory during the migration. Afterwards both QEMUs have stopped the guest, and the
# suite compares the whole memory of both.
. "$(dirname "$0")/lib.sh"
SIZE=$((256 << 20))

memory() { echo "/proc/${HOST_PID[$1]}/root/tmp/memory.img"; }
# guests: makes the files of the guest on both hosts; the files must be the same
guests() {
	cook client guest && on server python3 "$here/guest.py" /tmp/guest.img &&
		cp "/proc/${HOST_PID[client]}/root/tmp/random.img" "/proc/${HOST_PID[server]}/root/tmp/"
}
# runs HOST: does the guest on HOST run? Then it changes its memory
runs() {
	local before
	guest_number "$1" && before=$NUMBER && guest_number "$1" && [ "$NUMBER" != "$before" ]
}
# guest_number HOST: sets NUMBER to a number that the guest writes
guest_number() {
	NUMBER=$(on "$1" bash -c "echo 'xp /1wx 0x20000' | nc -q 1 127.0.0.1 4445" | tr -d '\r' | sed -n 's/^0*20000: 0x//p')
	echo "$1: $NUMBER"
	[ -n "$NUMBER" ] && [ "$NUMBER" != 00000000 ]
}
completed() { cook client state; }
# taken HOST: writes the memory of the guest to a file, and waits until the file is complete
taken() {
	rm -f "$(memory "$1")"
	cook "$1" memory && busywait 60 whole "$1"
}
whole() { [ "$(stat -c %s "$(memory "$1")")" = $SIZE ]; }
# same: are both memories the same, and do they contain the data that the guest had at its start?
same() {
	taken client && taken server && cmp "$(memory client)" "$(memory server)" &&
		cmp -n $((64 << 20)) -i $((64 << 20)):0 "$(memory server)" "/proc/${HOST_PID[client]}/root/tmp/random.img"
}
no_qemu() { not pgrep -f '^qemu-system-x86_64 .*127.0.0.1:4445'; }

# move WHAT [pin]: starts the guest, and moves it from the client to the server
move() {
	local host
	follow "$1: the guest" client source
	check "$1: the guest runs" busywait 60 runs client
	follow "$1: the destination" server destination
	for host in ${2:+client server}; do follow "$1: rdma-pin-all ($host)" "$host" pin; done
	follow "$1: the migration begins" client migrate
	check "$1: the migration is completed" busywait "$IWT_TIME" completed
	sed -n '/^\(total time\|setup\|downtime\|throughput\)/s/^/# /p' "$TMP/cooked" | tr -d '\r'
	check "$1: both memories are the same" compared $((SIZE >> 20)) same
	follow "$1: the guest continues" server continue
	check "$1: the guest runs at the destination" busywait 60 runs server
	follow "$1: the source ends" client end
	follow "$1: the destination ends" server end
	check "$1: both have ended" busywait 60 no_qemu
}

suite_begin qemu-system-x86_64 nc
if ! check "the RDMA core's mode exclusive" rdma system set netns exclusive || ! check "two hosts with links" two_hosts_with_mounts; then suite_finish; fi
check "the files of the guest" guests
move "registration in parts"
[ -n "$QUICK" ] || move "registration of all memory" pin
look client
check "no queue pair is left" sh -c "! rdma resource show qp | grep -q ' pid '"
check "the links are deleted" hosts_end
suite_finish
