#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 9p over RDMA, as Documentation/applications/9p.rst describes it. The client is the kernel's. The
# server is diod, which supports only TCP; iwt_9p forwards the messages between RDMA and TCP. Tests
# large and small files, and compares the speed of RDMA with the speed of TCP.
#
# The client works only in the initial network namespace, so both ends are on one machine.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/share.sh
. "$here/share.sh"

MB=$(if_quick 4 32) FILES=$(if_quick 40 200)
export PATH=$IWT_BIN:$PATH

# server_begin: starts diod, and iwt_9p ("bridge"). diod needs a host name for the client's address.
server_begin() {
	mkdir -p /srv && mount -t tmpfs srv /srv && cook here directory || return
	serve diod
	busywait 20 port_is 564 yes || return
	serve bridge
	busywait 20 port_is 5640 yes
}
# speed SED-SCRIPT: mounts by the recipe "mount", changed by SED-SCRIPT, and sets TOOK to the
# microseconds to write and read a file
speed() {
	local wrote
	cook here mount "$1" && seconds dd if="$TMP/source" of=/mnt/speed bs=1M conv=fsync && wrote=$TOOK &&
		remount "$1" && seconds cmp "$TMP/source" /mnt/speed && TOOK=$((TOOK + wrote)) &&
		verified $((MB << 20)) && cook here umount
}

suite_begin diod iwt_9p
want_modules 9p 9pnet_rdma || skip_all "this kernel has no 9p over RDMA"
if ! check "a link" one_machine; then suite_finish; fi
check "the server begins" server_begin
follow "mount" here mount
check "write a large and many small files" write_all
check "mount again" remount
check "read the files, and compare them with the server's" read_all
follow "unmount" here umount
check "a file to measure the speed" sh -c "head -c ${MB}M /dev/urandom >'$TMP/source'"
check "the time over TCP" speed 's/trans=rdma,port=5640/trans=tcp,port=564/;/grep/d' && tcp=$TOOK
check "the time over RDMA" speed '/grep/d' && ratio "$tcp" "$TOOK"
stop "${STARTED[@]}"
check "no RDMA resource is left" left_over "" iwt_eth0
check "the server's file system is unmounted" umount /srv
check "the link is deleted" one_host_end
modprobe -rq 9p 9pnet_rdma
suite_finish
