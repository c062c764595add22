# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Makes two network namespaces, A and B, connected by a veth pair, each with an RDMA link. When a
# test ends, cleanup() stops the processes that start() began, and removes the links, net devices,
# namespaces and temporary files that the functions of this file made, and nothing else. (Modules
# stay loaded, and configfs stays mounted.)
#
#	IWT_LINK_TYPE	type of the links (iw_tcp)
#	IWT_BIN		directory of the test programs
#	IWT_TIME	seconds that any single step may take (90)

IWT_LINK_TYPE=${IWT_LINK_TYPE:-iw_tcp}
IWT_TIME=${IWT_TIME:-90}
IWT_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The directories of the test programs in a laboratory, in this tree, and in an installed kselftest
for dir in /opt/iw_tcp/bin "$IWT_LIB/../../build/programs" "$IWT_LIB/../selftests/programs"; do
	[ -n "${IWT_BIN:-}" ] || [ ! -d "$dir" ] || IWT_BIN=$dir
done
export IWT_BIN=${IWT_BIN:-/opt/iw_tcp/bin}
unset dir
# iwt_patient ends a program that makes no progress (tests/programs/one/patient.c)
PATH=$PATH:$IWT_BIN

TAG=t$$
NS_A=iwt-$TAG-a NS_B=iwt-$TAG-b
IF_A=i${TAG}a IF_B=i${TAG}b
DEV_A=iwt${TAG}a DEV_B=iwt${TAG}b
IP_A=10.77.0.1 IP_B=10.77.0.2
IP6_A=fd77::1 IP6_B=fd77::2
STARTED=() MADE_NS=() MADE_DEV=() MADE_IF=()
TMP=$(mktemp -d "${TMPDIR:-/tmp}/iwt-$TAG.XXXXXX")

# in_a COMMAND..., in_b COMMAND...: run COMMAND in A or B
in_a() { ip netns exec "$NS_A" "$@"; }
in_b() { ip netns exec "$NS_B" "$@"; }

# in_net NS COMMAND...: runs COMMAND in the network namespace NS. COMMAND does not see the /sys of
# NS. This is faster than "ip netns exec", which mounts a new /sys each time.
in_net() { nsenter --net="/run/netns/$1" "${@:2}"; }

# in_ns NS COMMAND...: runs COMMAND in NS; NS "" is the initial namespace
in_ns() {
	local ns=$1
	shift
	if [ -n "$ns" ]; then ip netns exec "$ns" "$@"; else "$@"; fi
}

# shellcheck source=tests/lib/wait.sh
. "$IWT_LIB/wait.sh"

# alive PID: does the process exist, and is it not a zombie? (This function reads /proc, because
# bash 5.2 may have a wrong signal mask after "read -t", and may then not notice that its child has
# ended.)
alive() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null && [[ ${stat##*) } != [ZX]* ]]
}

# start COMMAND...: starts COMMAND in the background, and sets PID to its pid. (start replaces in_a
# and in_b by "ip netns exec", so that PID is the pid of the program, and not of a shell that runs
# the function in_a.)
start() {
	case $1 in
	in_a) set -- ip netns exec "$NS_A" "${@:2}" ;;
	in_b) set -- ip netns exec "$NS_B" "${@:2}" ;;
	esac
	"$@" &
	PID=$!
	STARTED+=("$PID")
}

# ended PID [SECONDS]: waits until a process of start() ends, and returns its exit status. If the
# process does not end within SECONDS (IWT_TIME), runs $IWT_LOOK in a shell, ends the process, and
# returns 124.
ended() {
	local pid=$1
	if ! busywait "${2:-$IWT_TIME}" not alive "$pid"; then
		echo "process $pid does not end"
		[ -z "${IWT_LOOK:-}" ] || bash -c "$IWT_LOOK"
		stop "$pid"
		return 124
	fi
	wait "$pid"
}

# stop PID...: ends processes of start() by SIGTERM, or, after 5 seconds, by SIGKILL
stop() {
	local pid LATE	# local LATE: if busywait times out here, the next result gets no mark
	for pid; do
		alive "$pid" || continue
		kill -TERM "$pid" 2>/dev/null
		busywait 5 not alive "$pid" || kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

# end_all NS NAME: sends SIGTERM to all processes in the namespace NS whose program is NAME
end_all() {
	local pid
	for pid in $(ip netns pids "$1"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$2" ] || kill -TERM "$pid" 2>/dev/null
	done
}

# wait_in SECONDS NS FUNCTION [ARGUMENT...]: waits until a function of wait.sh succeeds in NS
wait_in() { in_net "$2" bash "$IWT_LIB/wait.sh" "$1" "${@:3}"; }
# wait_listen NS PORT: waits until NS has a TCP listener on PORT, of a process or of the kernel
# wait_free NS PORT: waits until NS has no TCP listener on PORT
wait_listen() { wait_in "$IWT_TIME" "$1" port_is "$2" yes; }
wait_free() { wait_in 20 "$1" port_is "$2" no; }

# ns_add NS: makes the namespace NS
# ns_del NS: kills the processes in NS, and deletes NS
ns_add() {
	ip netns add "$1" || return 1
	MADE_NS+=("$1")
	ip -n "$1" link set lo up
}

ns_del() {
	# a namespace exists as long as a process is in it
	ip netns pids "$1" 2>/dev/null | xargs -r kill -KILL 2>/dev/null
	ip netns del "$1" 2>/dev/null
}

# rdma_exists LINK: does this namespace have the link LINK?
# rdma_in NS NETDEV: does the namespace NS have a link on NETDEV?
rdma_exists() { rdma link show "$1/1" >/dev/null 2>&1; }
rdma_in() { in_net "$1" rdma link show 2>/dev/null | grep -q " netdev $2 "; }

# is_realtime: is this a kernel with PREEMPT_RT? (Newer kernels do not have /sys/kernel/realtime.)
is_realtime() { [ -e /sys/kernel/realtime ] || [[ $(uname -v) = *PREEMPT_RT* ]]; }

# want_configfs: loads and mounts configfs, unless it is mounted already; fails without configfs
want_configfs() {
	modprobe -q configfs
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
}

# link_add NS NAME NETDEV [TYPE]: makes the link NAME on NETDEV of the namespace NS
link_add() {
	in_net "$1" rdma link add "$2" type "${4:-$IWT_LINK_TYPE}" netdev "$3" || return 1
	MADE_DEV+=("$1 $2")
}

# counter LINK NAME: prints the current value of a counter. The RDMA core reads the counters of a
# device at most every 10 ms, and shows old values in between. So this function waits for 30 ms
# before it reads the counter.
counter() {
	nap 0.03
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# link_del NS NAME: deletes the link NAME of the namespace NS
link_del() { in_net "$1" rdma link delete "$2"; }

# snmp NS GROUP NAME: prints a counter of the network stack in NS: NAME of the line GROUP (Ip, Tcp,
# TcpExt) of /proc/net/snmp or /proc/net/netstat
snmp() {
	in_net "$1" cat /proc/net/snmp /proc/net/netstat | awk -v group="$2:" -v name="$3" '$1 == group {
		for (i in names) if (names[i] == name) print $i
		split($0, names)
	}'
}

# by_name LINK COMMAND...: runs COMMAND, which executes rdma. rdma first requests the list of all
# links. The kernel lists links by their index, one after the other. If another process deletes a
# link with a lower index meanwhile, the kernel may omit a link. So if rdma prints "Wrong device
# name" for an existing LINK, runs COMMAND again (at most five times in all).
by_name() {
	local link=$1 said=$TMP/said.$BASHPID status
	shift
	for _ in 1 2 3 4 5; do
		status=0
		# a file, because a pipe would wait for a process that iwt_patient could not end
		"$@" >"$said" 2>&1 || status=$?
		if [ $status = 0 ] || ! grep -q 'Wrong device name' "$said" || [ ! -e "/sys/class/infiniband/$link" ]; then break; fi
		nap 0.1
	done
	cat "$said"
	return $status
}

# no_dad NS: turns off duplicate address detection in NS, so that IPv6 addresses work at once
no_dad() { in_net "$1" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 2>/dev/null; }

# net_setup [MTU]: makes the namespaces and the veth pair, with addresses
net_setup() {
	local mtu=${1:-1500}
	ns_add "$NS_A" && ns_add "$NS_B" || return 1
	ip link add "$IF_A" mtu "$mtu" netns "$NS_A" type veth \
		peer name "$IF_B" mtu "$mtu" netns "$NS_B" || return 1
	no_dad "$NS_A"
	no_dad "$NS_B"
	ip -n "$NS_A" addr add $IP_A/24 dev "$IF_A"
	ip -n "$NS_B" addr add $IP_B/24 dev "$IF_B"
	ip -n "$NS_A" addr add $IP6_A/64 dev "$IF_A" nodad 2>/dev/null
	ip -n "$NS_B" addr add $IP6_B/64 dev "$IF_B" nodad 2>/dev/null
	ip -n "$NS_A" link set "$IF_A" up
	ip -n "$NS_B" link set "$IF_B" up
	busywait 20 in_net "$NS_A" ping -c 1 -W 1 $IP_B
	[ ! -d /proc/sys/net/ipv6 ] || busywait 20 in_net "$NS_A" ping -6 -c 1 -W 1 $IP6_B
}

# dummy_add NETDEV ADDRESS: makes a dummy net device with ADDRESS. A TCP connection from ADDRESS to
# ADDRESS passes through lo, in segments for MTU 1500. This device is for consumers that support
# only the initial namespace. A veth pair would not help there: TCP between two addresses of the
# same namespace always uses lo.
dummy_add() {
	ip link add "$1" mtu 1500 type dummy || return
	MADE_IF+=("$1")
	ip addr add "$2/24" dev "$1" && ip link set "$1" up &&
		ip route change local "$2" dev lo table local proto kernel scope host src "$2" mtu 1500
}

# distance "far off" [MS]: delays all packets from A to B by MS milliseconds (10)
# distance near: removes the delay
DISTANCE=
distance() {
	DISTANCE=${1#near}
	case $1 in
	"far off") in_a tc qdisc replace dev "$IF_A" root netem delay "${2:-10}ms" ;;
	near) in_a tc qdisc del dev "$IF_A" root ;;
	esac 2>/dev/null
}

# setup [MTU]: makes the namespaces as net_setup does, and a link in each of them
setup() {
	net_setup "$@" && link_add "$NS_A" "$DEV_A" "$IF_A" && link_add "$NS_B" "$DEV_B" "$IF_B"
}

cleanup() {
	local x
	set +e
	stop "${STARTED[@]}"
	for x in "${MADE_DEV[@]}"; do
		# shellcheck disable=SC2086
		link_del $x 2>/dev/null
	done
	for x in "${MADE_IF[@]}"; do ip link del "$x" 2>/dev/null; done
	for x in "${MADE_NS[@]}"; do ns_del "$x"; done
	rm -rf "$TMP"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# require PROGRAM...: if one of these programs is missing, the test fails in a laboratory, and is
# skipped elsewhere
require() {
	local cmd
	for cmd; do
		command -v "$cmd" >/dev/null || [ -x "$IWT_BIN/$cmd" ] || missing_all "$cmd"
	done
}

# want_modules NAME...: loads the modules; fails if one of them can be neither loaded nor found in
# the kernel
want_modules() {
	local m
	for m; do
		modprobe -q "$m" || [ -d "/sys/module/${m//-/_}" ] || return 1
	done
}

# require_type TYPE: loads the module of the link type TYPE. If the kernel has no such module, the
# test fails in a laboratory, and is skipped elsewhere.
require_type() {
	modprobe -q "$1" || [ -d "/sys/module/$1" ] || missing_all "module $1"
}

[ "$(id -u)" = 0 ] || skip_all "needs root"
