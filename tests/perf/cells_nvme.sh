# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Measures kernel consumers: fio reads or writes an NVMe disk over RDMA or TCP; the NVMe target has
# a RAM disk. The kernel's NVMe target and host work only in the initial network namespace. So both
# use the address of a dummy net device, and their connections pass through lo, in segments for MTU
# 1500. Needs lib/nvme.sh and cells.sh.

NVME_IP=10.77.8.1
NVME_MB=128

nvme_prepare() {
	[ -z "${NVME_READY:-}" ] || return 0
	want_configfs || return
	local m
	for m in nvmet-rdma nvme-rdma nvmet-tcp nvme-tcp; do modprobe -q $m || return; done
	nvme_ram $NVME_MB || return
	# fill the disk, because reads of blocks that were never written copy no data
	dd if=/dev/urandom of=$NVME_RAM bs=1M count=$NVME_MB oflag=direct status=none || return
	dummy_add iwt-nvme $NVME_IP || return
	NVME_READY=1
}

nvme_fio() {
	local depth=32
	[ "$C_SIZE" -lt 65536 ] || depth=8
	timeout -k 2 60 taskset -c "$CPU_B" fio --name=bench --filename="$(nvme_disk)" --size=${NVME_MB}m --direct=1 \
		--ioengine=libaio --iodepth=$depth --rw="$C_OP" --bs="$C_SIZE" --time_based \
		--ramp_time=200ms --runtime="${CELL_MS}ms" --minimal >"$TMP/client" 2>"$TMP/said"
}

# nvme_value: prints "VALUE UNIT" from fio's terse output. Its field 7 has KiB/s and field 8 has
# IOPS for reads; for writes these are the fields 48 and 49.
nvme_value() {
	local first=7
	[[ $C_OP == *read ]] || first=48
	if [ "$C_SIZE" -lt 65536 ]; then
		awk -F';' -v n=$((first + 1)) '$n > 0 { print $n " IO/s" }' "$TMP/client"
	else
		awk -F';' -v n=$first '$n > 0 { print $n * 1024 / 1e6 " MB/s" }' "$TMP/client"
	fi
}

cell_nvme() { # CONTESTANT
	local transport=rdma rc=1
	[ "$1" != tcp ] || transport=tcp
	: >"$TMP/said"
	nvme_prepare || { echo "this kernel lacks NVMe over fabrics" >"$TMP/said"; return 1; }
	[ $transport = tcp ] || rdma link add iwt0 type "$1" netdev iwt-nvme || return
	if nvme_target_start $transport $NVME_IP &&
		nvme_connect 30 $transport $NVME_IP >"$TMP/said" 2>&1; then
		nvme_fio && rc=0
		nvme_disconnect 30 >/dev/null
	fi
	nvme_target_stop 2>/dev/null
	[ $transport = tcp ] || rdma link delete iwt0
	[ $rc -eq 0 ] && nvme_value
}
