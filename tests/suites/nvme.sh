#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NVMe over RDMA, as Documentation/applications/nvme.rst describes it. Tests fio with
# verification, several kinds of queues, data within the command, shared receive queues and many
# namespaces; resets a controller and interrupts the path, both under load; and compares the speed
# with the speed of NVMe over TCP.
#
# Target and host work only in the initial network namespace, so both are on one machine.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/disks.sh
. "$here/disks.sh"

NQN=nqn.2026-01.org.example:disk
DISK=/dev/nvme0n1
SPACES=$(if_quick 3 16)

gone() { ! compgen -G '/sys/class/nvme/nvme*' >/dev/null; }
live() { [ "$(cat /sys/class/nvme/nvme0/state)" = live ] && [ -b $DISK ]; }

# identity: makes the files that the installation of the package nvme-cli makes on a host
identity() {
	mkdir -p /etc/nvme
	nvme gen-hostnqn >/etc/nvme/hostnqn && cut -d: -f3 /etc/nvme/hostnqn >/etc/nvme/hostid
}

# connect [OPTIONS [SED-SCRIPT]]: connects by the page's command, with further options
connect() { cook here connect "s/^nvme connect.*/& ${1:-}/;${2:-}" && busywait 30 live; }
disconnect() { cook here disconnect && busywait 30 gone; }
queues() { ls -d /sys/block/nvme0*n1/mq/* | wc -l; }

# target_again [SED-SCRIPT]: removes the target and creates it again
target_again() { cook here target-end && cook here target "${1:-}"; }

# in_commands: may a command contain 16 KB of data?
in_commands() { [ "$(cat /sys/kernel/config/nvmet/ports/1/param_inline_data_size)" = 16384 ]; }

# The functions *spaces are for many NVMe namespaces with different contents. Each namespace must
# have the content of its RAM disk at the target.
# space NUMBER: prints the block device of the namespace NUMBER. (The name of this device may
# contain another number.)
space() {
	local f
	for f in /sys/block/nvme0n*/nsid; do
		[ "$(cat "$f")" != "$1" ] || { f=${f%/nsid}; echo "/dev/${f##*/}"; return; }
	done
	return 1
}
many_spaces() {
	local i n=/sys/kernel/config/nvmet/subsystems/$NQN/namespaces
	for ((i = 2; i <= SPACES; i++)); do
		mkdir $n/$i && echo /dev/ram$((i - 1)) >$n/$i/device_path && echo 1 >$n/$i/enable || return
	done
	for ((i = 1; i <= SPACES; i++)); do busywait 60 space "$i" || return; done
}
spaces_differ() {
	local i
	for ((i = 1; i <= SPACES; i++)); do
		head -c 1M /dev/urandom >"$TMP/space$i"
		dd if="$TMP/space$i" of="$(space "$i")" bs=256k oflag=direct status=none & MADE[i]=$!
	done
	for ((i = 1; i <= SPACES; i++)); do wait "${MADE[i]}" || return; done
	echo 3 >/proc/sys/vm/drop_caches
	for ((i = 1; i <= SPACES; i++)); do
		dd if=/dev/ram$((i - 1)) bs=1M count=1 iflag=direct status=none | cmp - "$TMP/space$i" || return
		dd if="$(space "$i")" bs=1M count=1 iflag=direct status=none | cmp - "$TMP/space$i" || return
		verified $((2 << 20))
	done
}
fewer_spaces() {
	local i n=/sys/kernel/config/nvmet/subsystems/$NQN/namespaces
	for ((i = 2; i <= SPACES; i++)); do rmdir $n/$i || return; done
}
MADE=()

# more_disks: makes SPACES RAM disks, one for each NVMe namespace
more_disks() { modprobe -r brd && cook here disk "s/rd_nr=1/rd_nr=$SPACES/" && [ -b /dev/ram$((SPACES - 1)) ]; }

# same_as_target: has the disk of the host the same data as the target's RAM disk? Reads the RAM
# disk directly, because target and host are on one machine.
same_as_target() {
	echo 3 >/proc/sys/vm/drop_caches
	dd if=$DISK bs=1M count="$MB" iflag=direct status=none >"$TMP/host" &&
		dd if=/dev/ram0 bs=1M count="$MB" iflag=direct status=none | cmp - "$TMP/host" &&
		! cmp -s -n $((MB << 20)) /dev/zero "$TMP/host" && verified $((MB << 20))
}

reset() { cook here reset && busywait 60 live; }
lost() { lost_for "$1" && busywait 90 live; }

# ahead on|off: changes the setting "ahead" of the link
ahead() {
	local link=/sys/kernel/config/iw_tcp/iwt_eth0
	mkdir -p $link && echo "$1" >$link/ahead && rmdir $link
}
# over_gaps COMMAND...: runs COMMAND while packets are lost, so that TCP's stream has gaps
over_gaps() {
	local rc
	tc qdisc add dev lo root netem delay 200us loss 0.5% || return
	"$@"
	rc=$?
	tc qdisc del dev lo root && return $rc
}
# placed_ahead: were data placed ahead, and recognized when the gap closed?
placed_ahead() {
	echo "$(counter iwt_eth0 rx_ahead) FPDUs placed ahead, $(counter iwt_eth0 rx_ahead_kept) not placed again"
	[ "$(counter iwt_eth0 rx_ahead_kept)" -gt 0 ]
}

# speed SED-SCRIPT: measures the speed with the page's commands for target and host, changed by
# SED-SCRIPT: for TCP it replaces "rdma" by "tcp", for RDMA it changes nothing
speed() {
	cook here target "$1" && connect "" "$1" && disk_speed $DISK && disconnect && cook here target-end
}

suite_begin nvme fio
want_configfs && want_modules nvmet-rdma nvme-rdma || skip_all "this kernel has no NVMe over RDMA"
modprobe -nq brd || skip_all "this kernel has no RAM disk"
check "the host has a name" identity
if ! check "a link" one_machine; then suite_finish; fi

follow "the RAM disk" here disk
check "more of them" more_disks
follow "the target listens" here target
follow "the host finds the target" here discover
follow "the host connects" here connect && check "the disk" busywait 30 live
look here
fio_all "disk" $DISK
check "host and target see the same data" same_as_target
follow "fio as on the page" here fio
[ -n "$QUICK" ] || follow "the state of the controller" here state
follow "the host disconnects" here disconnect
check "no controller is left" busywait 30 gone

check "six queues: connect" connect "--nr-io-queues=2 --nr-write-queues=2 --nr-poll-queues=2"
check "six queues: more than one" test "$(queues)" -gt 1
fio_all "six queues" $DISK
check "a reset under load" beside_load $DISK reset
check "disconnect" disconnect

check "a host that soon gives up a path: connect" connect "--keep-alive-tmo=3 --reconnect-delay=1 --ctrl-loss-tmo=120"
check "the path is interrupted for $(if_quick 2 15) seconds under load" beside_load $DISK lost "$(if_quick 2 15)"
check "many namespaces" many_spaces
check "each namespace has its own content" spaces_differ
check "disconnect" disconnect
check "one namespace again" fewer_spaces

# the memory of both ends is registered by work requests: data behind a gap are placed ahead
check "placing ahead: the setting" ahead on
check "placing ahead: connect" connect
check "placing ahead: random writes of 60 KB while packets are lost, verified" over_gaps \
	compared $((4 * MB)) fio_verify $DISK randwrite 60k $((4 * MB))
check "placing ahead: a load while packets are lost" beside_load $DISK over_gaps load_goes_on
check "placing ahead: host and target see the same data" same_as_target
check "placing ahead: data were placed ahead" placed_ahead
check "placing ahead: disconnect" disconnect
check "placing ahead: the setting" ahead off

follow "the target takes data with commands" here inline
check "a command may contain 16 KB of data" in_commands
check "data with commands: connect" connect
fio_all "data with commands" $DISK
check "disconnect" disconnect
follow "the target ends" here target-end

check "the target is unloaded" modprobe -r nvmet-rdma
follow "shared receives: nvmet-rdma is loaded with this option" here srq
check "shared receives: the target" cook here target
check "shared receives: connect" connect
check "shared receives: the target has a shared receive queue" has_srq nvmet
fio_all "shared receives" $DISK
check "shared receives: host and target see the same data" same_as_target
check "a reset under load" beside_load $DISK reset
check "disconnect" disconnect
check "the target ends" cook here target-end
modprobe -r nvmet-rdma

if check "the time over TCP" speed 's/rdma/tcp/g'; then
	tcp=$TOOK
	check "the time over RDMA" speed 's/a/a/' && ratio "$tcp" "$TOOK"
fi
check 'no RDMA resource is left' left_over "" iwt_eth0
check 'the link is deleted' one_host_end
modprobe -rq nvmet-rdma nvme-rdma nvmet-tcp nvme-tcp
modprobe -rq brd
suite_finish
