#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NVMe over RDMA: the kernel's target exports a RAM disk, the kernel's host
# connects with nvme-cli, fio writes and verifies every block, then the disk is
# read back directly and compared, and the test removes everything.
#
# Target and host both work in the initial network namespace, whichever namespace
# configures them. So this test uses one host, and one link connects to its own
# address.
#
#   nvme.sh [--type LINK_TYPE] [--quick]

here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/consumers/lib.sh
. "$here/lib.sh"
# shellcheck source=tests/lib/nvme.sh
. "$here/../lib/nvme.sh"

mb=16
[ -z "$QUICK" ] || mb=4

over_rdma() {
	local c
	for c in /sys/class/nvme/nvme*; do
		[ "$(cat "$c/subsysnqn")" = $NVME_NQN ] || continue
		echo "$(cat "$c/transport") $(cat "$c/address")" "$(cat "$c/state")"
		[ "$(cat "$c/transport") $(cat "$c/state")" = 'rdma live' ] && return 0
	done
	return 1
}

# Compares the host's disk with the target's disk, and reads the latter without RDMA
same_as_target() {
	local d
	d=$(nvme_disk) || return
	echo 3 >/proc/sys/vm/drop_caches
	dd if="$d" bs=1M count=$mb iflag=direct status=none | sha256sum >"$TMP/host"
	dd if=$NVME_RAM bs=1M count=$mb iflag=direct status=none | sha256sum >"$TMP/target"
	cat "$TMP/host" "$TMP/target"
	cmp "$TMP/host" "$TMP/target" && ! dd if=/dev/zero bs=1M count=$mb status=none | sha256sum | cmp -s - "$TMP/host"
}

require nvme
want_configfs && want_modules nvmet-rdma nvme-rdma || skip_all "this kernel has no NVMe over RDMA"
nvme_ram 64 || skip_all "this kernel has no RAM disk"
require_type "$IWT_LINK_TYPE"
ktap_begin
# through_nvme WHAT: tests that the host can use the target's disk
through_nvme() {
	check "$1NVMe target listens on RDMA port 4420" nvme_target_start rdma $IP_A || return
	if check "$1nvme connect -t rdma" nvme_connect 60 rdma $IP_A; then
		check "$1the controller is live over rdma" over_rdma
		check "$1fio: random writes of 4 KB, verified" fio_verify "$(nvme_disk)" randwrite 4k $((mb / 4))
		check "$1fio: random writes of 60 KB, verified" fio_verify "$(nvme_disk)" randwrite 60k $mb
		check "$1fio: sequential writes of 256 KB, verified" fio_verify "$(nvme_disk)" write 256k $mb
		check "$1host and target see the same data" same_as_target
		[ -z "$1" ] || check "$1the target's queue pairs share receives" shares
		check "$1nvme disconnect" nvme_disconnect 60
	fi
	check "$1NVMe target stops cleanly" nvme_target_stop
}

# Does the target use a shared receive queue?
shares() { rdma resource show srq | grep -q '^dev iwt0 .*nvmet'; }

if check 'a link' one_host; then
	through_nvme ''
	# The target creates its shared queues when it first uses a device, so load it again
	if [ "$IWT_LINK_TYPE" = iw_tcp ] && check 'the target is unloaded' modprobe -r nvmet-rdma; then
		check 'the target is to share receives' modprobe nvmet-rdma use_srq=1
		through_nvme 'shared receives: '
	fi
	check 'no RDMA resource is left' left_over "" iwt0
	check 'the link goes away' one_host_end
fi
modprobe -rq nvmet-rdma nvme-rdma
modprobe -rq brd
ktap_finish
