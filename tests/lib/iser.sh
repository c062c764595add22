# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Starts the kernel's iSCSI target LIO, which exports a RAM disk, and connects the kernel's initiator
# to the target, over RDMA (iSER) or TCP. Then the initiator has a disk. Needs net.sh. Documentation/
# applications/iser.rst has the commands for users.

ISER_IQN=iqn.2026-01.org.example:iwt
ISER_TARGET=/sys/kernel/config/target

# iser_begin: starts the initiator's daemon, once
iser_begin() {
	[ -z "${ISER_PID:-}" ] || return 0
	mkdir -p /run/lock/iscsi /etc/iscsi
	[ -e /etc/iscsi/initiatorname.iscsi ] ||
		echo "InitiatorName=iqn.2026-01.org.example:initiator" >/etc/iscsi/initiatorname.iscsi
	start setsid iscsid -f >"$TMP/iscsid" 2>&1
	ISER_PID=$PID
	busywait "$IWT_TIME" iscsiadm -m iface
}

# iser_target_start TRANSPORT ADDRESS MB: starts the target on port 3260 of ADDRESS with a RAM disk
# of MB megabytes; TRANSPORT is rdma or tcp. A portal always listens for TCP, too, so a portal for
# RDMA is made in another network namespace.
iser_target_start() {
	local core=$ISER_TARGET/core/rd_mcp_0/iwt group=$ISER_TARGET/iscsi/$ISER_IQN/tpgt_1 portal
	portal=$group/np/$2:3260
	mkdir -p $ISER_TARGET/core/rd_mcp_0 $core && echo "rd_pages=$(($3 * 256))" >$core/control &&
		echo 1 >$core/enable && mkdir -p $ISER_TARGET/iscsi && mkdir ${group%/*} && mkdir $group || return
	echo 0 >$group/attrib/authentication && echo 0 >$group/attrib/demo_mode_write_protect &&
		echo 1 >$group/attrib/cache_dynamic_acls && echo 1 >$group/attrib/generate_node_acls &&
		mkdir $group/lun/lun_0 && ln -s $core $group/lun/lun_0/iwt || return
	if [ "$1" = rdma ]; then
		unshare --net mkdir "$portal" && echo 1 >"$portal/iser"
	else
		mkdir "$portal"
	fi && echo 1 >$group/enable
}

# iser_target_stop: removes all parts of the target; fails if one of the parts cannot be removed
iser_target_stop() {
	local core=$ISER_TARGET/core/rd_mcp_0/iwt group=$ISER_TARGET/iscsi/$ISER_IQN/tpgt_1 rc=0
	echo 0 >$group/enable
	rmdir $group/np/* || rc=1
	rm $group/lun/lun_0/iwt || rc=1
	rmdir $group/lun/lun_0 $group ${group%/*} $core ${core%/*} || rc=1
	return $rc
}

# iser_disk: prints the path of the iSCSI disk; fails if there is no such disk
iser_disk() {
	local d
	for d in /sys/class/iscsi_session/session*/device/target*/*/block/*; do
		[ -b "/dev/${d##*/}" ] || continue
		echo "/dev/${d##*/}"
		return
	done
	return 1
}

# iser_node TRANSPORT ADDRESS WORD...: calls iscsiadm for the target
iser_node() {
	local iface=default
	[ "$1" != rdma ] || iface=iser
	iwt_patient "$IWT_TIME" iscsiadm -m node -T $ISER_IQN -p "$2:3260,1" -I $iface "${@:3}"
}

# iser_connect TRANSPORT ADDRESS: connects the initiator to the target, and waits for the disk
iser_connect() { iser_node "$1" "$2" -o new && iser_node "$1" "$2" --login && busywait "$IWT_TIME" iser_disk; }

# iser_disconnect TRANSPORT ADDRESS: ends the session, forgets the target, and waits until the disk
# is gone, because the next iser_connect must not find the old disk
iser_disconnect() {
	iser_node "$1" "$2" --logout && iser_node "$1" "$2" -o delete && busywait "$IWT_TIME" not iser_disk
}
