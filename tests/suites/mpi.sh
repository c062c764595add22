#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Open MPI over libfabric, as Documentation/applications/mpi.rst describes it: mpi_check.c runs on
# ranks of two hosts and compares all data that it receives. mpirun starts processes on the other
# host by ssh; here a replacement of ssh starts these processes in the namespaces of that host.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lib/settings.sh
. "$here/../lib/settings.sh"

MORE=4
# Not in /tmp, because each host has its own /tmp
SSH=/var/tmp/iwt-ssh
SMALLER=$(if_quick "s/4194304/65536/" "")

# A replacement of ssh that runs a command on a host of this test
ssh_to_hosts() {
	mkdir -p $SSH && cat >$SSH/ssh <<-S
	#!/bin/bash
	while [[ \$1 == -* ]]; do shift; done
	case \$1 in 192.0.2.1) pid=${HOST_PID[server]} ;; *) pid=${HOST_PID[client]} ;; esac
	shift
	exec nsenter --target \$pid --net --mount --uts -- bash -c "\$*"
	S
	chmod +x $SSH/ssh
}

# share: puts the program at the same place on both hosts: compiles it on one host, and copies it to
# the other host
share() {
	cook client compile && on server mkdir -p /tmp/mpi && cp "/proc/${HOST_PID[client]}/root/tmp/mpi/mpi_check" "/proc/${HOST_PID[server]}/root/tmp/mpi/"
}

# with NAME [SED-SCRIPT]: runs the recipe NAME on the client; no data may be wrong
with() {
	PATH=$SSH:$PATH cook client "$1" "${2:-$SMALLER}" || return
	grep -q " 0 wrong" "$TMP/cooked" && verified "$(sed -n 's/.* \([0-9]*\) octets compared.*/\1/p' "$TMP/cooked")"
}
# ucx_refuses: does UCX print the refusal that the page shows? Prints the exit status of mpirun,
# which does not matter.
ucx_refuses() {
	local rc=0
	PATH=$SSH:$PATH cook client run "s/4194304/65536/;s/--mca pml cm .* -x FI_OFI[^ ]*/--mca pml ucx -x UCX_LOG_LEVEL=debug/" >"$TMP/ucx" || rc=$?
	echo "status $rc"
	grep -v "UCX  DEBUG" "$TMP/ucx" | tail -n 20
	grep "device uverbs[0-9]* of type iWARP is not supported" "$TMP/ucx"
}
# ucx_changed: would UCX use the link if it did not look at the transport type? transport.so changes
# the type that UCX sees. The backslash prevents UCX from using datagrams beside the transport.
ucx_changed() {
	local was
	was=$(sent)
	settings_begin && set_links direct_port 64791 || return
	with run "s/4194304/65536/;s/--mca pml cm .* -x FI_OFI[^ ]*/--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any -x UCX_TLS='\\\\rc_verbs,tcp,self' -x UCX_IB_GID_INDEX=1 -x LD_PRELOAD=${IWT_BIN//\//\\/}\/transport.so/" || return
	set_links direct_port 0 && settings_end || return
	echo "bytes that the link has sent: $was, then $(sent)"
	[ $(($(sent) - was)) -gt 100000 ]
}
sent() { on client cat "/sys/class/infiniband/$DEV_A/ports/1/hw_counters/tx_bytes"; }
by_rdma() { [ "$(sent)" -gt 100000 ]; }

suite_begin mpirun mpicc
want_settings
if ! check "the RDMA core's mode exclusive" rdma system set netns exclusive || ! check "two hosts with links" two_hosts_with_mounts; then suite_finish; fi
check "a replacement of ssh" ssh_to_hosts
check "the program on both hosts" share
look client
check "ranks on two hosts" with run
check "the ranks used RDMA" by_rdma
check "the time over RDMA" seconds with run && rdma=$TOOK
check "the time over TCP" seconds with run-tcp && ratio "$TOOK" "$rdma"
[ -n "$QUICK" ] || check "$MORE ranks" with run "s/-n 2/-n $MORE/"
[ -n "$QUICK" ] || check "UCX refuses the link" ucx_refuses
[ -n "$QUICK" ] || [ "$IWT_LINK_TYPE" != iw_tcp ] || check "UCX uses the link if it sees another transport type" ucx_changed
check "no queue pair is left" sh -c "! rdma resource show qp | grep -q ' pid '"
check "the links are deleted" hosts_end
rm -r $SSH
suite_finish
