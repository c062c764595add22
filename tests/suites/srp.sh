#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# SRP, as Documentation/applications/srp.rst describes it: fio with verification, and an
# interrupted path under load.
#
# Target and initiator work only in the initial network namespace, so both are on one machine.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/disks.sh
. "$here/disks.sh"

# the_disk: prints the block device of the initiator
the_disk() {
	local d
	for d in /sys/class/srp_remote_ports/port-*/../../../target*/*/block/*; do
		[ ! -b "/dev/${d##*/}" ] || { echo "/dev/${d##*/}"; return; }
	done
	for d in /sys/block/sd*; do [ ! -b "/dev/${d##*/}" ] || { echo "/dev/${d##*/}"; return; }; done
	return 1
}
no_disk() { ! compgen -G '/sys/class/srp_remote_ports/port-*' >/dev/null; }

suite_begin fio
want_configfs && modprobe -nq ib_srpt && modprobe -nq ib_srp && want_modules target_core_mod sd_mod ||
	skip_all "this kernel has no SRP"
modprobe -nq brd || skip_all "this kernel has no RAM disk"
if ! check "a link" one_machine; then suite_finish; fi
follow "the RAM disk" here disk
follow "the target" here target
follow "the initiator" here login
check "the disk" busywait 30 the_disk
fio_all "disk" "$(the_disk)"
check "the path is interrupted for 2 seconds under load" beside_load "$(the_disk)" lost_for 2
follow "the initiator ends" here logout
check "the disk is gone" busywait 30 no_disk
follow "shared receives: the target's setting" here srq
check "shared receives: the target has a shared receive queue" has_srq srpt
check "shared receives: the initiator" cook here login
check "shared receives: the disk" busywait 30 the_disk
fio_all "shared receives" "$(the_disk)"
check "shared receives: the path is interrupted under load" beside_load "$(the_disk)" lost_for 2
check "shared receives: the initiator ends" cook here logout
check "shared receives: the disk is gone" busywait 30 no_disk
follow "the target ends" here target-end
check "no RDMA resource is left" left_over "" iwt_eth0
check "the link is deleted" one_host_end
modprobe -rq brd
suite_finish
