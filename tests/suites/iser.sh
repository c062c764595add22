#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# iSER, as Documentation/applications/iser.rst describes it. The targets are LIO and tgt, the
# initiator is open-iscsi. Tests discovery, login, fio with verification, an interrupted path
# under load, and logout, and compares the speed with the speed of iSCSI over TCP.
#
# Target and initiator work only in the initial network namespace, so both are on one machine.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/disks.sh
. "$here/disks.sh"
# shellcheck source=tests/lib/iser.sh
. "$here/../lib/iser.sh"

# services: starts two daemons that already run on a host with systemd: the D-Bus daemon, which
# targetcli needs, and iscsid
services() {
	mkdir -p /run/dbus /run/lock/iscsi /etc/iscsi /etc/target
	cat >"$TMP/bus" <<-B
	<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen>
	<auth>EXTERNAL</auth><policy context="default"><allow send_destination="*" eavesdrop="true"/>
	<allow eavesdrop="true"/><allow own="*"/><allow user="*"/></policy></busconfig>
	B
	start dbus-daemon --config-file="$TMP/bus" --nofork --nopidfile
	echo "InitiatorName=iqn.2026-01.org.example:initiator" >/etc/iscsi/initiatorname.iscsi
	iser_begin && busywait 20 test -e /run/dbus/system_bus_socket
}

no_session() { ! compgen -G '/sys/class/iscsi_session/session*' >/dev/null; }
logged_in() { [ "$(cat /sys/class/iscsi_session/session*/state)" = LOGGED_IN ]; }

lost() { lost_for "$1" && busywait 120 logged_in; }

# through WHAT: runs discovery, login, a load and logout with the target WHAT; sets SPEED to the
# microseconds of disk_speed
through() {
	local seconds
	seconds=$(if_quick 2 20)
	follow "$1: discovery" here discovery
	follow "$1: login" here login && check "$1: the disk" busywait 30 iser_disk || return
	follow "$1: the session" here session
	look here
	fio_all "$1" "$(iser_disk)"
	check "$1: the path is interrupted for $seconds seconds under load" \
		beside_load "$(iser_disk)" lost "$seconds"
	check "$1: the speed" disk_speed "$(iser_disk)" && SPEED=$TOOK
	follow "$1: logout" here logout
	check "$1: nothing is left of the session" busywait 30 no_session
	check "$1: the initiator forgets the target" iscsiadm -m node -o delete
}

# over_tcp: connects the same disk by iSCSI over TCP; sets TOOK to the microseconds of disk_speed
over_tcp() {
	cook here target 's/$//' && cook here portal 's/unshare --net //;/enable_iser/d' &&
		cook here discovery 's/-I iser/-I default/' && cook here login 's/-I iser/-I default/' &&
		busywait 30 iser_disk && disk_speed "$(iser_disk)" && speed=$TOOK &&
		cook here logout 's/-I iser/-I default/' && busywait 30 no_session &&
		cook here target-end && TOOK=$speed
}

suite_begin iscsiadm targetcli fio
want_configfs && want_modules ib_iser ib_isert sd_mod || skip_all "this kernel has no iSER"
if ! check "a link" one_machine; then suite_finish; fi
check "the daemons that a host has" services

follow "LIO: the target" here target
follow "LIO: the target's portal" here portal
through LIO
rdma=$SPEED
follow "LIO: the target ends" here target-end
check "no RDMA resource is left" left_over "" iwt_eth0
check "the same disk over TCP" over_tcp && ratio "$TOOK" "$rdma"
follow "tgt: the target" here tgt
through tgt
follow "tgt: the target ends" here tgt-end
check "tgt has ended" busywait 20 not pgrep -x tgtd
stop "${STARTED[@]}"
check "no RDMA resource is left" left_over "" iwt_eth0
check "the link is deleted" one_host_end
modprobe -rq ib_isert ib_iser iscsi_tcp
suite_finish
