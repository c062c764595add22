#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages: libiscsi-bin qemu-block-extra qemu-utils
# libiscsi and QEMU's block driver iser, as Documentation/applications/libiscsi.rst describes them.
# The target is tgt. The suite also compares the file of the target with the copied image.
. "$(dirname "$0")/lib.sh"
IMAGE=64
PARTS=
SMALLER=$(if_quick "s/head -c 64M/head -c 4M/" "")
[ -z "$QUICK" ] || IMAGE=4

# in_file: does the file of the target's disk begin with the bytes of the image?
in_file() { cmp -n $((IMAGE << 20)) "/proc/${HOST_PID[client]}/root/tmp/in.img" "/proc/${HOST_PID[server]}/root/tmp/disk.img"; }
# copied: qemu-img compare also compares the part of the disk behind a smaller image, which is zero
copied() { cook client copy "$SMALLER" && grep -q "^Images are identical.$" "$TMP/cooked"; }
# io_right: qemu-io prints wrong data, and then ends with the status 0
io_right() { cook client io "$PARTS" && not grep -i "verification failed" "$TMP/cooked"; }
# by_rdma KB: has the initiator's link sent more than KB?
by_rdma() { [ "$(on client cat "/sys/class/infiniband/$DEV_A/ports/1/hw_counters/tx_bytes")" -gt $(($1 << 10)) ]; }
# sends_large_requests: is libiscsi without the limit of 512 KB that 1.19 has? In a laboratory dpkg
# does not know the programs, so look for the message about the limit in the library.
sends_large_requests() {
	local library
	library=$(ldd "$(command -v iscsi-inq)" | awk '$1 ~ /^libiscsi/ { print $3 }')
	! grep -q "supports messages smaller than 512k" "$library"
}
has_ended() { not pgrep -x "$1"; }

suite_begin tgtd iscsi-inq iscsi-perf qemu-img qemu-io
if ! check "the RDMA core's mode exclusive" rdma system set netns exclusive || ! check "two hosts with links" two_hosts_with_mounts; then suite_finish; fi
follow "tgt: the target" server target
follow "iscsi-inq" client show
follow "iscsi-perf" client perf
if sends_large_requests; then
	check "qemu-img copies and compares an image" compared $IMAGE copied
	check "the file of the target" compared $IMAGE in_file
	MB=6 SENT=$((IMAGE << 10))
else
	skip "qemu-img copies and compares an image" "libiscsi 1.19 sends at most 512 KB in a request"
	skip "the file of the target" "the image was not copied"
	ran copy io
	PARTS='s/1M 4M/1M 256k/g; s/3000k/1200k/g; s/1976k/176k/' MB=0 SENT=256
fi
check "qemu-io writes and reads parts" compared $MB io_right
[ "$IWT_LINK_TYPE" != iw_tcp ] || check "the initiator used RDMA" by_rdma "$SENT"
follow "tgt: the target ends" server target-end
check "tgt has ended" busywait 20 has_ended tgtd

check "no queue pair is left" sh -c "! rdma resource show qp | grep -q ' pid '"
check "the links are deleted" hosts_end
suite_finish
