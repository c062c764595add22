# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Starts the kernel's NVMe target, which exports a RAM disk, and connects the kernel's NVMe host to
# the target. Then the host has an NVMe disk. Needs wait.sh.

NVME_NQN=nqn.2026-01.org.example:iwt
NVME_HOST=6f1c9b4e-9a57-4b6f-8a53-0d8c1f6b2a77
NVME_RAM=/dev/ram0
NVMET=/sys/kernel/config/nvmet

# nvme_ram MB: makes a RAM disk of MB megabytes
nvme_ram() {
	modprobe brd rd_nr=1 rd_size=$(($1 * 1024)) 2>/dev/null
	[ -b $NVME_RAM ]
}

# nvme_target_start TRANSPORT ADDRESS: starts the target on port 4420 of ADDRESS; TRANSPORT is rdma
# or tcp
nvme_target_start() {
	local s=$NVMET/subsystems/$NVME_NQN p=$NVMET/ports/1
	mkdir "$s" "$s/namespaces/1" "$p" || return
	echo 1 >"$s/attr_allow_any_host" &&
		echo -n $NVME_RAM >"$s/namespaces/1/device_path" &&
		echo 1 >"$s/namespaces/1/enable" &&
		echo "$1" >"$p/addr_trtype" &&
		echo ipv4 >"$p/addr_adrfam" &&
		echo "$2" >"$p/addr_traddr" &&
		echo 4420 >"$p/addr_trsvcid" &&
		ln -s "$s" "$p/subsystems/$NVME_NQN"
}

# nvme_target_stop: removes all parts of the target; fails if one of the parts cannot be removed
nvme_target_stop() {
	local s=$NVMET/subsystems/$NVME_NQN p=$NVMET/ports/1 rc=0
	rm "$p/subsystems/$NVME_NQN" || rc=1
	rmdir "$p" "$s/namespaces/1" "$s" || rc=1
	return $rc
}

# nvme_disk: prints the path of the NVMe disk; fails if there is no such disk
nvme_disk() {
	local d
	for d in /sys/class/nvme-subsystem/*/nvme*n1 /sys/class/nvme/*/nvme*n1; do
		[ -b "/dev/${d##*/}" ] || continue
		[ "$(cat "${d%/*}/subsysnqn" 2>/dev/null)" = $NVME_NQN ] || continue
		echo "/dev/${d##*/}"
		return 0
	done
	return 1
}

# nvme_gone: succeeds if the host has no NVMe controller
nvme_gone() { ! compgen -G '/sys/class/nvme/nvme*' >/dev/null; }

# nvme_connect SECONDS TRANSPORT ADDRESS: connects the host to the target, and waits for the disk.
# The host needs a name (NQN). nvme-cli would read the name from a file that the laboratories do not
# have, so this function gives the name as an option.
nvme_connect() {
	iwt_patient "$1" nvme connect -t "$2" -a "$3" -s 4420 -n $NVME_NQN -i 2 -Q 32 \
		--hostnqn=nqn.2014-08.org.nvmexpress:uuid:$NVME_HOST --hostid=$NVME_HOST &&
		busywait 30 nvme_disk
}

# nvme_disconnect SECONDS: disconnects, and waits until the host has no controller
nvme_disconnect() { iwt_patient "$1" nvme disconnect -n $NVME_NQN && busywait 30 nvme_gone; }
