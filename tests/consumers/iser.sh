#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# iSCSI over RDMA (iSER): the kernel's target (LIO) exports a RAM disk, open-iscsi
# logs in with the transport iser, fio writes and verifies every block, open-iscsi logs
# out, and the test removes everything.
#
# Target and initiator both work in the initial network namespace, so one link connects to its
# own address. For every portal LIO also opens an ordinary TCP socket. iWARP uses TCP's ports, so
# this socket and the iSER listener would need the same port. Therefore the test creates the TCP
# half of the portal in another namespace ("decoy"), and the iSER half in the initial namespace.
#
#   iser.sh [--type LINK_TYPE] [--quick]

here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/consumers/lib.sh
. "$here/lib.sh"

mb=16
[ -z "$QUICK" ] || mb=4
iqn=iqn.2026-01.org.example:iwt
core=/sys/kernel/config/target/core/rd_mcp_0
tpg=/sys/kernel/config/target/iscsi/$iqn/tpgt_1
portal=$IP_A:3260
iscsid=

target_start() {
	ip netns add decoy && ip -n decoy link set lo up && ip -n decoy addr add $IP_A/32 dev lo || return
	mkdir -p $core/disk &&
		echo "rd_pages=$((64 << 8))" >$core/disk/control &&
		echo 1 >$core/disk/enable || return
	mkdir -p $tpg/lun/lun_0 && ln -s $core/disk $tpg/lun/lun_0/disk || return
	echo 0 >$tpg/attrib/authentication &&
		echo 1 >$tpg/attrib/generate_node_acls &&
		echo 1 >$tpg/attrib/cache_dynamic_acls &&
		echo 0 >$tpg/attrib/demo_mode_write_protect || return
	nsenter --net=/run/netns/decoy mkdir $tpg/np/$portal &&
		echo 1 >$tpg/np/$portal/iser &&
		echo 1 >$tpg/enable
}

target_stop() {
	local rc=0
	echo 0 >$tpg/enable || rc=1
	echo 0 >$tpg/np/$portal/iser || rc=1
	rmdir $tpg/np/$portal || rc=1
	rm $tpg/lun/lun_0/disk && rmdir $tpg/lun/lun_0 $tpg ${tpg%/*} ${tpg%/*/*} || rc=1
	rmdir $core/disk $core || rc=1
	ip netns del decoy || rc=1
	return $rc
}

initiator_start() {
	mkdir -p /run/lock/iscsi /etc/iscsi
	echo "InitiatorName=iqn.2026-01.org.example:initiator" >/etc/iscsi/initiatorname.iscsi
	setsid iscsid -f >"$TMP/iscsid" 2>&1 &
	iscsid=$!
	STARTED+=("$iscsid")
	busywait 20 iscsiadm -m iface
}

initiator_stop() {
	local rc=0
	iscsiadm -m node -T $iqn -p $portal -o delete
	kill $iscsid || return
	wait $iscsid || rc=$?
	[ $rc -eq 0 ] || [ $rc -eq 143 ]
}

login() {
	iscsiadm -m node -o new -T $iqn -p $portal -I iser &&
		iscsiadm -m node -T $iqn -p $portal -o update -n node.session.timeo.replacement_timeout -v 10 &&
		iwt_patient 90 iscsiadm -m node -T $iqn -p $portal -I iser --login &&
		busywait 30 disk && disk
}

logout() {
	iwt_patient 90 iscsiadm -m node -T $iqn -p $portal --logout &&
		busywait 20 sh -c '! ls /sys/class/iscsi_session/* 2>/dev/null | grep -q .'
}

over_iser() { iscsiadm -m session | tee /dev/stderr | grep -q '^iser:'; }

disk() {
	local d
	for d in /sys/class/iscsi_session/session*/device/target*/*/block/*; do
		[ -b "/dev/$(basename "$d")" ] || continue
		echo "/dev/$(basename "$d")"
		return 0
	done
	return 1
}

require iscsiadm
want_configfs && want_modules ib_iser ib_isert sd_mod || skip_all "this kernel has no iSER"
require_type "$IWT_LINK_TYPE"
ktap_begin
if check 'a link' one_host; then
	if check 'iSCSI target listens with iSER on port 3260' target_start; then
		check 'iscsid' initiator_start
		if check 'iscsiadm --login with the transport iser' login; then
			check 'the session is iSER' over_iser
			check 'fio: random writes of 4 KB, verified' fio_verify "$(disk)" randwrite 4k $((mb / 4))
			check 'fio: random writes of 60 KB, verified' fio_verify "$(disk)" randwrite 60k $mb
			check 'fio: sequential writes of 256 KB, verified' fio_verify "$(disk)" write 256k $mb
			check 'iscsiadm --logout' logout
		else
			diag <"$TMP/iscsid"
		fi
		check 'iscsid ends' initiator_stop
		check 'iSCSI target stops cleanly' target_stop
	fi
	check 'no RDMA resource is left' left_over "" iwt0
	check 'the link goes away' one_host_end
fi
modprobe -rq ib_isert ib_iser
ktap_finish
