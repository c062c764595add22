#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# SMB Direct with the kernel's server (ksmbd) and client, as Documentation/applications/smb.rst
# describes it. Tests large and small files, fsync and an interrupted path, and compares the speed
# of RDMA with the speed of TCP.
#
# Server and client use the initial network namespace, so both are on one machine.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/share.sh
. "$here/share.sh"

MB=$(if_quick 4 64) FILES=$(if_quick 40 400)

# server_begin: makes the server's directory and the configuration that the page shows, and starts
# the server
server_begin() {
	mkdir -p /srv /etc/ksmbd /run/lock && mount -t tmpfs srv /srv && cook here directory &&
		recipe ksmbd.conf >/etc/ksmbd/ksmbd.conf && ran ksmbd.conf && cook here server
}
listens() { rdma resource show cm_id | grep -q 'LISTEN.*:5445'; }

# lost SECONDS: drops all packets for this time, while a program writes. Afterwards the program must
# continue to write, and the file must have the right contents
lost() {
	rm -f "$TMP/progress" "$TMP/enough"
	start python3 "$MANY" steady /mnt/steady 3 "$TMP/progress" "$TMP/enough"
	busywait 30 test -s "$TMP/progress" && tc qdisc add dev lo root netem loss 100% && nap "$1" &&
		tc qdisc del dev lo root && size=$(stat -c %s "$TMP/progress") && busywait 90 more || return
	touch "$TMP/enough"
	ended "$PID" $((IWT_TIME * 2)) && verified "$(stat -c %s /srv/share/steady)" &&
		python3 "$MANY" steady-check /srv/share/steady 3
}
more() { [ "$(stat -c %s "$TMP/progress")" -gt "$size" ]; }

# speed SED-SCRIPT: mounts by the recipe "mount", changed by SED-SCRIPT, and sets TOOK to the
# microseconds to write and read a file
speed() {
	local wrote
	cook here mount "$1" && seconds dd if="$TMP/source" of=/mnt/speed bs=1M conv=fsync && wrote=$TOOK &&
		remount "$1" && seconds cmp "$TMP/source" /mnt/speed && TOOK=$((TOOK + wrote)) &&
		verified $((MB << 20)) && cook here umount
}

suite_begin ksmbd.mountd mount.cifs
want_modules ksmbd cifs || skip_all "this kernel has no SMB server"
zgrep -qs CONFIG_SMB_SERVER_SMBDIRECT=y /proc/config.gz || modprobe -q smbdirect || skip_all "this kernel has no SMB Direct"
if ! check "a link" one_machine; then suite_finish; fi
check "the server begins" server_begin
check "the server listens for RDMA" busywait 30 listens
look here
follow "mount" here mount
check "write a large and many small files" write_all
check "mount again" remount
check "read the files, and compare them with the server's" read_all
check "the path is interrupted for $(if_quick 2 10) seconds while a program writes" lost "$(if_quick 2 10)"
follow "unmount" here umount
check "a file to measure the speed" sh -c "head -c ${MB}M /dev/urandom >'$TMP/source'"
check "the time over TCP" speed 's/rdma,//;/grep/d' && tcp=$TOOK
check "the time over RDMA" speed '/grep/d' && ratio "$tcp" "$TOOK"
follow "the server ends" here server-end
check "no RDMA resource is left" left_over "" iwt_eth0
check "the server's file system is unmounted" umount /srv
check "the link is deleted" one_host_end
modprobe -rq cifs ksmbd
suite_finish
