#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NVMe over RDMA: the kernel's target exports a RAM disk, the kernel's host
# connects with nvme-cli, fio writes and verifies every block, then the disk is
# read back directly and compared, and all is torn down.
#
# Target and host both live in the initial network namespace, whatever
# namespace asks them: so they are one host here, and one link connects to its
# own address.
#
#   nvme.sh [--type LINK_TYPE] [--quick]

here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/consumers/lib.sh
. "$here/lib.sh"

mb=16
[ -z "$QUICK" ] || mb=4
nqn=nqn.2026-01.org.example:iwt
cfg=/sys/kernel/config/nvmet
ram=/dev/ram0

target_start() {
	local s=$cfg/subsystems/$nqn p=$cfg/ports/1
	mkdir "$s" "$s/namespaces/1" "$p" || return
	echo 1 >"$s/attr_allow_any_host" &&
		echo -n $ram >"$s/namespaces/1/device_path" &&
		echo 1 >"$s/namespaces/1/enable" &&
		echo rdma >"$p/addr_trtype" &&
		echo ipv4 >"$p/addr_adrfam" &&
		echo $IP_A >"$p/addr_traddr" &&
		echo 4420 >"$p/addr_trsvcid" &&
		ln -s "$s" "$p/subsystems/$nqn"
}

target_stop() {
	local s=$cfg/subsystems/$nqn p=$cfg/ports/1
	rm "$p/subsystems/$nqn" && rmdir "$p" && rmdir "$s/namespaces/1" "$s"
}

# the block device that the connected namespace became
disk() {
	local d
	for d in /sys/class/nvme-subsystem/*/nvme*n1 /sys/class/nvme/*/nvme*n1; do
		[ -b "/dev/$(basename "$d")" ] || continue
		[ "$(cat "$(dirname "$d")/subsysnqn" 2>/dev/null)" = $nqn ] || continue
		echo "/dev/$(basename "$d")"
		return 0
	done
	return 1
}

over_rdma() {
	local c
	for c in /sys/class/nvme/nvme*; do
		[ "$(cat "$c/subsysnqn")" = $nqn ] || continue
		echo "$(cat "$c/transport") $(cat "$c/address")" "$(cat "$c/state")"
		[ "$(cat "$c/transport") $(cat "$c/state")" = 'rdma live' ] && return 0
	done
	return 1
}

connect() {
	timeout 60 nvme connect -t rdma -a $IP_A -s 4420 -n $nqn -i 2 -Q 32 \
		--hostnqn=nqn.2014-08.org.nvmexpress:uuid:6f1c9b4e-9a57-4b6f-8a53-0d8c1f6b2a77 \
		--hostid=6f1c9b4e-9a57-4b6f-8a53-0d8c1f6b2a77 &&
		busywait 20 disk && disk
}

# the host's view equals the target's disk, read through no RDMA at all
same_as_target() {
	local d
	d=$(disk) || return
	echo 3 >/proc/sys/vm/drop_caches
	dd if="$d" bs=1M count=$mb iflag=direct status=none | sha256sum >"$TMP/host"
	dd if=$ram bs=1M count=$mb iflag=direct status=none | sha256sum >"$TMP/target"
	cat "$TMP/host" "$TMP/target"
	cmp "$TMP/host" "$TMP/target" && ! dd if=/dev/zero bs=1M count=$mb status=none | sha256sum | cmp -s - "$TMP/host"
}

disconnect() {
	timeout 60 nvme disconnect -n $nqn && busywait 20 sh -c "! ls /sys/class/nvme/nvme* 2>/dev/null | grep -q ."
}

command -v nvme >/dev/null || skip_all "no nvme-cli in this userland"
want_configfs && want_modules nvmet-rdma nvme-rdma || skip_all "this kernel has no NVMe over RDMA"
modprobe brd rd_nr=1 rd_size=$((64 * 1024)) 2>/dev/null
[ -b $ram ] || skip_all "this kernel has no RAM disk"
require_type "$IWT_LINK_TYPE"
ktap_begin
if check 'a link' one_host; then
	if check 'NVMe target listens on RDMA port 4420' target_start; then
		if check 'nvme connect -t rdma' connect; then
			check 'the controller is live over rdma' over_rdma
			check 'fio: random writes of 4 KB, verified' fio_verify "$(disk)" randwrite 4k $((mb / 4))
			check 'fio: random writes of 60 KB, verified' fio_verify "$(disk)" randwrite 60k $mb
			check 'fio: sequential writes of 256 KB, verified' fio_verify "$(disk)" write 256k $mb
			check 'host and target see the same data' same_as_target
			check 'nvme disconnect' disconnect
		fi
		check 'NVMe target stops cleanly' target_stop
	fi
	check 'no RDMA resource is left' left_over "" iwt0
	check 'the link goes away' one_host_end
fi
modprobe -rq nvmet-rdma nvme-rdma
modprobe -rq brd
ktap_finish
