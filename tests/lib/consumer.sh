# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common functions of the suites of applications and of the soak test. The test scripts source this
# file, as root, in a laboratory (tests/vm/run). The argument --type or the variable IWT_LINK_TYPE
# selects the type of the links (default: iw_tcp). The argument --quick sets QUICK to 1: the script
# then runs a shorter test.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
QUICK=''
while [ $# -gt 0 ]; do
	case $1 in
	--type) export IWT_LINK_TYPE=${2:?}; shift ;;
	--quick) QUICK=1 ;;
	*) echo "usage: $0 [--type LINK_TYPE] [--quick]" >&2; exit 2 ;;
	esac
	shift
done
export QUICK

lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/lib/ktap.sh
. "$lib/ktap.sh"
# shellcheck source=tests/lib/net.sh
. "$lib/net.sh"
# shellcheck source=tests/lib/left.sh
. "$lib/left.sh"

# one_host: makes the link iwt_eth0 on a dummy net device with the address $IP_A; client and server
# both use this link. one_host_end removes the link and the net device.
one_host() {
	dummy_add iwt-dummy $IP_A || return
	rdma link add iwt_eth0 type "$IWT_LINK_TYPE" netdev iwt-dummy || return
	busywait 10 link_active iwt_eth0
}

link_active() { rdma link show "$1/1" | grep 'state ACTIVE'; }

one_host_end() {
	rdma link delete iwt_eth0 && ip link del iwt-dummy
}

# two_hosts: makes A and B with a link each; two_hosts_end removes the links and the namespaces
two_hosts() { setup 1500; }

# shellcheck disable=SC2034
two_hosts_end() {
	link_del "$NS_A" "$DEV_A" && link_del "$NS_B" "$DEV_B" &&
		ip netns del "$NS_A" && ip netns del "$NS_B" && MADE_DEV=() MADE_NS=()
}

# fio_verify DISK RW BLOCKSIZE MB: writes the first MB megabytes of DISK, reads and verifies them.
# RW is fio's name of the access pattern (write, randwrite).
fio_verify() {
	iwt_patient "$IWT_TIME" fio --name=verify --filename="$1" --size="$4m" --direct=1 \
		--ioengine=libaio --iodepth=16 --rw="$2" --bs="$3" --verify=crc32c \
		--verify_fatal=1 --do_verify=1 --minimal
}

# left_over NS LINK: waits until LINK in the namespace NS has no resources except completion queues
# (see no_resources). If resources are left after 10 seconds, prints the number of objects of each
# kind, and fails.
left_over() { busywait 10 no_resources "$@" || no_resources "$@"; }
