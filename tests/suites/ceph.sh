#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages of trixie: ceph-mon ceph-osd ceph-common
# Ceph's messenger async+rdma, as Documentation/applications/ceph.rst describes it: a monitor and an
# OSD on the server, and rados on the client. Compares objects of several sizes, measures the speed,
# and restarts the monitor; rados bench compares the objects that it reads.
. "$(dirname "$0")/lib.sh"

MB=$(if_quick 8 64)
SMALLER=$(if_quick "s/head -c 64M/head -c ${MB}M/" "")

# directories: gives the hosts their own directories of Ceph
directories() {
	local host
	for host in server client; do
		# shellcheck disable=SC2016 # the shell of the host expands $d
		on $host sh -ec 'for d in /etc/ceph /var/lib/ceph /var/log/ceph; do
			mkdir -p $d
			mount -t tmpfs ceph $d
		done' || return
	done
}

# start_mon, start_osd: start the daemons, and set MON and OSD to their pids
start_mon() { daemon server bash -c "$(recipe monitor)" && ran monitor && MON=$PID; }
start_osd() {
	daemon server bash -c "$(recipe osd)" && ran osd && OSD=$PID && busywait "$IWT_TIME" osds 1
}
# osds N: do N OSDs run, as the monitor sees it?
osds() { on client ceph osd stat | grep " $1 up"; }
# end PID: ends a daemon of Ceph, which must end without an error. (The objects of the OSD are only
# in memory, and are then lost.)
end() { kill "$1" && ended "$1"; }
restart() { end "$MON" && start_mon && osds 1; }

# same OCTETS: writes an object of this size, reads it and compares it
same() {
	on client iwt_patient "$IWT_TIME" sh -ec "head -c $1 /dev/urandom >/tmp/o
		rados -p data put o$1 /tmp/o
		rm -f /tmp/r
		rados -p data get o$1 /tmp/r
		cmp /tmp/o /tmp/r" && verified "$1"
}
again() {
	on client iwt_patient "$IWT_TIME" sh -ec 'rados -p data get object /tmp/again
		cmp /tmp/object /tmp/again'
}
bench() {
	cook client bench && verified "$(awk '/^Total reads made:/ { n = $4 }
		/^Read size:/ { size = $3 }
		END { print n * size }' "$TMP/cooked")"
}
# by_rdma HOST LINK: has this host sent at least the octets of the large object through its link?
by_rdma() {
	[ "$(on "$1" cat "/sys/class/infiniband/$2/ports/1/hw_counters/tx_bytes")" -gt $((MB << 20)) ]
}

[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "the page is for links of iw_tcp"
. /etc/os-release
[ "$VERSION_CODENAME" != bookworm ] || skip_all "the page is for Debian 13's Ceph"
suite_begin ceph ceph-mon ceph-osd rados
if ! check "the RDMA core's mode exclusive" rdma system set netns exclusive || ! check "two hosts with links" two_hosts_with_mounts; then suite_finish; fi
check "the directories of the hosts" directories
follow "the configuration of the server" server configure
follow "the configuration of the client" client configure
follow "the monitor is made" server monitor-make
check "the monitor begins" start_mon
follow "the client shows the state" client state || diag <"$TMP/daemons"
follow "the OSD is made" server osd-make
check "the OSD begins" start_osd || diag <"$TMP/daemons"
check "an object is written and read" compared $MB cook client object "$SMALLER"
check "the client used RDMA" by_rdma client "$DEV_A"
check "the server used RDMA" by_rdma server "$DEV_B"
look client
for octets in 1 4095 131072 131073; do check "an object of $octets octets" same $octets; done
check "rados bench" bench
check "the monitor ends and begins again" restart || diag <"$TMP/daemons"
check "the object is read again" compared $MB again
check "the OSD ends" end "$OSD"
check "the monitor ends" end "$MON"
check "no RDMA resource of the server is left" left_over "$NS_B" "$DEV_B"
check "no RDMA resource of the client is left" left_over "$NS_A" "$DEV_A"
check "the links are deleted" hosts_end
suite_finish
