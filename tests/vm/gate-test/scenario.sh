#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scenario.sh NAME [WORD]: gate-test/run runs this script in a laboratory. NAME is a fault, which
# the script causes, or an action that the gate must accept, such as "rping". "clean" prints WORD.
set -e

siw_link() {
	modprobe siw
	ip link add lab0 type dummy
	ip addr add 10.9.0.1/24 dev lab0
	ip link set lab0 up
	rdma link add siw0 type siw netdev lab0
}

# crash_as NAME EXPRESSION: copies Python to a program with the name NAME, and evaluates EXPRESSION
# in this program, which may crash. The gate ignores some crashes of programs with certain names.
crash_as() {
	cp "$(readlink -f "$(command -v python3)")" "/tmp/$1"
	"/tmp/$1" -c "import ctypes, os; $2" || :
}

case $1 in
clean) echo "said $2" ;;
status) exit 7 ;;
rping) # siw moves data between two namespaces
	modprobe siw
	for n in 0 1; do
		ip netns add "ns$n"
		ip netns exec "ns$n" ip link set lo up
	done
	ip link add p0 netns ns0 type veth peer name p1 netns ns1
	for n in 0 1; do
		ip netns exec "ns$n" ip addr add "10.9.0.$((n + 1))/24" dev "p$n"
		ip netns exec "ns$n" ip link set "p$n" up
		ip netns exec "ns$n" rdma link add "siw$n" type siw netdev "p$n"
	done
	ip netns exec ns0 timeout 60 rping -s -a 10.9.0.1 -C 20 -V &
	for n in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.5
		! ip netns exec ns1 timeout 60 rping -c -a 10.9.0.1 -C 20 -V || break
	done
	wait $!
	;;
warn | oops | leak | overrun | inversion | stuck | race) modprobe lab_fault fault="$1" ;;
elsewhere) # with one processor, KCSAN might find no race
	[ "$(nproc)" -gt 1 ]
	modprobe lab_fault fault=elsewhere
	;;
namespace | slow) # a network namespace that is never destroyed, or that is destroyed late
	ip netns add lab
	ip netns exec lab modprobe lab_fault fault="$1"
	[ "$1" = slow ] || echo 5 >/run/lab.patience
	;;
nfs) # a network namespace that is never destroyed, before a test of the NFS server
	ip netns add lab
	ip netns exec lab modprobe lab_fault fault=namespace
	echo 5 >/run/lab.patience
	echo "modprobe nfsd" >/tmp/nfs.sh
	bash "$(dirname "$0")/../../lib/suite.sh" /tmp/nfs.sh
	;;
panic) echo c >/proc/sysrq-trigger; sleep 60 ;;
off) echo "$LAB_OFF" >/proc/sysrq-trigger; sleep 60 ;;
endless) sleep 600 ;;
resource) # a server still runs after the end of the script
	siw_link
	setsid rping -s -a 10.9.0.1 >/dev/null 2>&1 &
	timeout 60 bash -c 'until rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done'
	;;
orphans) # writes 300 lines of the status while children of the writer end
	. /opt/iw_tcp/vm/gate.sh
	for ((line = 0; line < 300; line++)); do
		sleep 100 &
		sleep 0.01 &
		kill $! 2>/dev/null || :
		status "note line $line"
	done
	;;
flags) /opt/iw_tcp/bin/iwt_flags ;;
crash) sh -c 'kill -SEGV $$' || : ;;
abort) sh -c 'kill -ABRT $$' || : ;;
qperf) crash_as qperf 'ctypes.string_at(0)' ;;
qperf-abort) crash_as qperf 'os.abort()' ;;
qperf-library) crash_as qperf 'ctypes.CDLL("libiw_tcp.so.1").iwtdv_is_supported(8)' ;;
*) echo "no scenario $1" >&2; exit 2 ;;
esac
