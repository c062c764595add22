# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Measures storage of the kernel over RDMA or TCP: iwt_disk reads or writes an NVMe disk, an iSCSI
# disk or a file of NFS without the page cache, or creates and removes files of NFS. The server has
# the data in memory. Needs lib/net.sh, lib/nvme.sh, lib/iser.sh, lib/nfs.sh and cells.sh.
#
# Target and host of NVMe, and target and initiator of iSCSI, work only in the initial network
# namespace. So client and server use the address of a dummy net device, also for NFS, and their
# connections pass through lo, in segments for MTU 1500.

DISK_IP=10.77.8.1
# DISK_MB: the size of a disk or file
DISK_MB=128

# disk_long: sets HOW to the options of iwt_disk that determine how long a run lasts, as how_long()
# does for streams
disk_long() {
	local n=500 most=${CELL_INSN:+2000}
	[ "$C_SIZE" -eq 0 ] || n=$((32 * 1048576 / C_SIZE))
	[ "$n" -lt "${most:=8000}" ] || n=$most
	HOW=(-t "$CELL_MS" -w "$n")
	[ -z "${CELL_INSN:-}" ] || HOW=(-n "$n" -w "$n")
}

# disk_run FILE: runs iwt_disk as the case demands. Many small operations are outstanding, and few
# large ones.
disk_run() {
	local depth=32 opts=()
	[ "$C_SIZE" -lt 65536 ] || depth=8
	[ "$C_SIZE" -lt 1048576 ] || depth=4
	disk_long
	[ "$C_OP" = create ] || opts=(-S "$C_SIZE" -d "$depth")
	timeout -k 2 "$CELL_LIMIT" taskset -c "$CPU_B" "$IWT_BIN/iwt_disk" -o "$C_OP" ${CELL_INSN:+-I} \
		"${opts[@]}" "${HOW[@]}" "$1" >"$TMP/client" 2>>"$TMP/said"
}

disk_modules() {
	want_modules "$@" || { echo "this kernel lacks one of the modules $*"; return 1; }
}

cell_nvme() { # rdma|tcp
	local rc=1
	want_configfs && disk_modules "nvmet-$1" "nvme-$1" && nvme_ram $DISK_MB || return
	# fill the disk, because reads of blocks that were never written copy no data
	[ -n "${NVME_FULL:-}" ] || dd if=/dev/zero of="$NVME_RAM" bs=1M oflag=direct status=none count=$DISK_MB || return
	NVME_FULL=1
	if nvme_target_start "$1" $DISK_IP && nvme_connect "$CELL_LIMIT" "$1" $DISK_IP; then
		disk_run "$(nvme_disk)" && rc=0
		nvme_disconnect 30
	fi
	nvme_target_stop && return $rc
}

cell_iser() { # rdma|tcp
	local rc=1
	want_configfs && disk_modules iscsi_target_mod target_core_mod sd_mod && iser_begin || return
	[ "$1" = tcp ] || disk_modules ib_isert ib_iser || return
	if iser_target_start "$1" $DISK_IP $DISK_MB && iser_connect "$1" $DISK_IP; then
		disk_run "$(iser_disk)" && rc=0
		iser_disconnect "$1" $DISK_IP
	fi
	iser_target_stop && return $rc
}

# nfs_unmounted: ends the mount, as soon as the file system is not in use any more
nfs_unmounted() { ! mountpoint -q $NFS_AT || umount $NFS_AT; }

cell_nfs() { # rdma|tcp
	local options=$NFS_OPTIONS pid rc=1 dir=$TMP/nfs
	disk_modules "${NFS_MODULES[@]}" || return
	[ "$1" = rdma ] || options=vers=4,proto=tcp,port=2049,sec=sys,retry=0
	rm -rf "$dir"
	mkdir -p "$dir" $NFS_AT
	start unshare -m bash "$IWT_LIB/nfs_roles.sh" server "$dir"
	pid=$PID
	if busywait "$CELL_LIMIT" test -s "$dir/started" && [ "$(cat "$dir/started")" = 0 ] &&
		iwt_patient "$CELL_LIMIT" mount.nfs $DISK_IP:/srv $NFS_AT -o "$options"; then
		dd if=/dev/zero of=$NFS_AT/data bs=1M count=$DISK_MB conv=fsync status=none &&
			disk_run $NFS_AT/"$([ "$C_OP" = create ] || echo data)" && rc=0
		busywait 20 nfs_unmounted || rc=1
	fi
	touch "$dir/stop"
	ended "$pid" "$CELL_LIMIT" && return $rc
}

cell_disk() { # CONTESTANT
	local transport=rdma rc=1
	: >"$TMP/said"
	[ -d /sys/class/net/iwt-disk ] || dummy_add iwt-disk $DISK_IP || return
	[ "$1" != tcp ] || transport=tcp
	[ $transport = tcp ] || rdma link add iwt0 type "$1" netdev iwt-disk || return
	"cell_$C_DISK" $transport >>"$TMP/said" 2>&1 && rc=0
	[ $transport = tcp ] || rdma link delete iwt0 || rc=1
	[ $rc -eq 0 ] || { sed 's/^/# /' "$TMP/said" >&2; return 1; }
	value
}
