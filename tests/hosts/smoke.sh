#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# smoke.sh a|b [PART...]: runs applications between two machines, by the commands of the pages in
# Documentation/applications. The server is on side b, the client is on side a. The applications
# compare all data, except ucmatose, perftest and fio's rdma engine, which do not check their data.
# PART: programs, nvme_disk, mpi (default: all).
# shellcheck source=tests/hosts/lib.sh
. "$(dirname "$(realpath "$0")")/lib.sh"
# shellcheck disable=SC2034
IP_A=192.0.2.2 IP_B=192.0.2.1 IP6_A=2001:db8::2 IP6_B=2001:db8::1
hosts_serve "$1"

DISK=/dev/nvme0n1
# page PAGE ARGUMENT...: runs page.py for the page PAGE of Documentation/applications
page() { python3 "$IWT_LIB/page.py" "$TESTS/../Documentation/applications/$1.rst" "${@:2}"; }

# apart WHAT PAGE NAME PORT: runs the recipe NAME-server of PAGE on side b and, when the server
# listens on PORT, the recipe NAME-client on side a. Compares their outputs with the page. The
# results have the name WHAT.
apart() {
	local server client
	server=$(page "$2" recipe "$3-server") client=$(page "$2" recipe "$3-client")
	if [ -z "$server" ] || [ -z "$client" ]; then not_ok "$1: no recipe $3"; return; fi
	well_between "$1" b "$4" "$server" "$client" || return
	check "$1: the output is that of the page" told_apart "$2" "$3"
}
told_apart() { page "$1" output "$2-server" "$TMP/pair-server" && page "$1" output "$2-client" "$TMP/pair-client"; }

# cook SIDE PAGE NAME [SED-SCRIPT]: runs the recipe NAME of PAGE, changed by SED-SCRIPT, on SIDE,
# and compares its output with the page
cook() {
	local text
	text=$(page "$2" recipe "$3" | sed "${4:-}")
	[ -n "$text" ] || return
	$1 "timeout $IWT_TIME bash -ec $(printf %q "$text")" >"$TMP/cooked" 2>&1 || { cat "$TMP/cooked"; return 1; }
	cat "$TMP/cooked"
	page "$2" output "$3" "$TMP/cooked"
}

# identity: makes the files with the name of the NVMe host, as the installation of the package
# nvme-cli does
identity() {
	mkdir -p /etc/nvme
	nvme gen-hostnqn >/etc/nvme/hostnqn && cut -d: -f3 /etc/nvme/hostnqn >/etc/nvme/hostid
}
gone() { ! compgen -G '/sys/class/nvme/nvme*' >/dev/null; }

nvme_begin() {
	b "modprobe brd rd_nr=1 rd_size=65536 && modprobe configfs &&
		{ mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config; }" && identity
}
nvme_end() { b "modprobe -r nvmet-rdma brd" && modprobe -r nvme-rdma; }

nvme_disk() {
	check "NVMe: a RAM disk" nvme_begin &&
		check "NVMe: the target" cook b nvme target &&
		check "NVMe: the host finds the target" cook a nvme discover &&
		check "NVMe: the host connects" cook a nvme connect &&
		check "NVMe: the disk" busywait 30 test -b $DISK &&
		check "NVMe: random writes, verified" cook a nvme fio &&
		check "NVMe: the host disconnects" cook a nvme disconnect
	check "NVMe: no controller is left" busywait 30 gone
	check "NVMe: the target ends" cook b nvme target-end
	check "NVMe: the modules are unloaded" nvme_end
}

# mpi_begin: makes a replacement of ssh that runs commands on side b, and gives each host its own
# name, because Open MPI distinguishes hosts by their names
mpi_begin() {
	mkdir -p "$TMP/ssh" && cat >"$TMP/ssh/ssh" <<-S
	#!/bin/bash
	while [[ \$1 == -* ]]; do shift; done
	shift
	exec python3 '$TESTS/hosts/remote.py' run $IP_B $REMOTE_PORT "\$*"
	S
	chmod +x "$TMP/ssh/ssh" && hostname client && b "hostname server"
}
mpi_compile() { $1 "mkdir -p /tmp/mpi" && cook "$1" mpi compile "s|^|cd $TESTS/.. \&\& |"; }
# mpi_sent: prints how many bytes the link of side a has sent
mpi_sent() { counter iwt0 tx_bytes; }
mpi_run() {
	local before
	before=$(mpi_sent)
	PATH=$TMP/ssh:$PATH cook a mpi run && grep -q " 0 wrong" "$TMP/cooked" &&
		[ $(($(mpi_sent) - before)) -gt 1000000 ]
}

mpi() {
	local mine theirs
	mine=$(a "mpirun --version | head -n 1") theirs=$(b "mpirun --version | head -n 1")
	if [ "$mine" != "$theirs" ]; then skip "MPI" "$mine and $theirs do not talk to each other"; return; fi
	check "MPI: a replacement of ssh" mpi_begin &&
		check "MPI: the program is compiled on a" mpi_compile a &&
		check "MPI: the program is compiled on b" mpi_compile b &&
		check "MPI: two ranks, by RDMA" mpi_run
}

programs() {
	apart "rping" rdmacm rping 7174
	apart "ucmatose" rdmacm ucmatose 7471
	apart "ib_write_bw" perftest write-bw 18515
	apart "ib_send_lat" perftest send-lat 18515
	apart "fio, Reads" fio read 8888
	apart "libfabric, datagrams" libfabric rdm 47592
}

shift
[ $# -gt 0 ] || set -- programs nvme_disk mpi
ktap_begin
hosts_meet || ktap_finish
hosts_links
for part; do
	case $part in
	programs) programs ;;
	nvme_disk) nvme_disk ;;
	mpi) mpi ;;
	*) not_ok "there is no part $part" ;;
	esac
done
hosts_end
ktap_finish
