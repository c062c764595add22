#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# RNBD over RTRS, as Documentation/applications/rnbd.rst describes it: fio with verification, and
# an interrupted path under load.
#
# Server and client work only in the initial network namespace, so both are on one machine.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/disks.sh
. "$here/disks.sh"

DISK=/dev/rnbd0
gone() { [ ! -e $DISK ]; }
connected() { grep -q connected /sys/class/rtrs-client/*/paths/*/state; }
lost() { lost_for "$1" && busywait 120 connected; }

suite_begin fio
modprobe -nq rnbd-server && modprobe -nq rnbd-client || skip_all "this kernel has no RNBD"
modprobe -nq brd || skip_all "this kernel has no RAM disk"
if ! check "a link" one_machine; then suite_finish; fi
follow "the RAM disk" here disk
follow "the server" here server
follow "the client" here client
check "the disk" busywait 30 test -b $DISK
look here
fio_all "disk" $DISK
check "the client's disk has the data of the server's disk" sh -c "cmp -n 1048576 /dev/ram0 $DISK" && verified 1048576
check "the path is interrupted for $(if_quick 2 20) seconds under load" beside_load $DISK lost "$(if_quick 2 20)"
follow "the client ends" here client-end
check "the disk is gone" busywait 30 gone
follow "the server ends" here server-end
check "no RDMA resource is left" left_over "" iwt_eth0
check "the link is deleted" one_host_end
modprobe -rq brd
suite_finish
