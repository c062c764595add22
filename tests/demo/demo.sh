#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# demo.sh [--table] [LINK_TYPE]: runs ordinary RDMA programs and NFS over RDMA between two hosts.
# The hosts are two network namespaces, which a veth pair with MTU 1500 connects. Each host has a
# link of LINK_TYPE (iw_tcp). Prints each command and the output of rdma and ss, and then a table of
# the results; with --table, only the table. On a machine that is not emulated, also measures the
# speed, and prints a chart that compares RDMA with TCP. Fails if any program failed. Runs as root
# in a laboratory: make demo. (tests/hosts/demo.sh runs these programs between two machines.)

export PATH=${IWT_BIN:-/opt/iw_tcp/bin}:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
quiet=
[ "${1:-}" != --table ] || { quiet=1; shift; }
type=${1:-iw_tcp}
messages=20000	# number of messages in each stream
server=10.0.0.1 port=18515
# host1, host2: the words before a command that is to run on the host; dev1, dev2: the net device of
# the host; path: a description of the path between the hosts, for the table
host1=(ip netns exec host1) host2=(ip netns exec host2)
dev1=eth0 dev2=eth0 path="veth pair, MTU 1500"
tmp=$(mktemp -d)
rows=() failed=0
names=() figures=()	# the lines of the chart: the name and the value of each line

progress() { [ -n "$quiet" ] || printf '[%3d s] %s\n' "$SECONDS" "$*"; }

# run COMMAND...: shows and executes COMMAND
run() {
	progress "# $*"
	"$@"
}

on() { local -n host=$1; "${host[@]}" "${@:2}"; }	# HOST COMMAND...: runs COMMAND on HOST

# row TOOL WHAT RESULT ok|FAILED: adds a row to the table
row() {
	rows+=("$(printf '%-14s %-42s %14s   %s' "$@")")
	[ "$4" = ok ] || failed=$((failed + 1))
}

# bar NAME FIGURE: adds a line to the chart
bar() { names+=("$1") figures+=("$2"); }

listening() { [ -n "$(on host1 ss -Htln "sport = :$1")" ]; }

# wait_listen PORT PID: waits until a process on host1 listens on PORT. Fails if the process PID
# ends before.
wait_listen() {
	while kill -0 "$2" 2>/dev/null; do
		! listening "$1" || return 0
		sleep 0.1
	done
	return 1
}

# between PORT SERVER_COMMAND -- CLIENT_COMMAND: runs the server on host1 and, when it listens on
# PORT, the client on host2. Returns the exit status of the client. The outputs are in $tmp/server
# and $tmp/client.
between() {
	local port=$1 pid rc=0 command=()
	shift
	while [ "$1" != -- ]; do command+=("$1"); shift; done
	shift
	timeout 100 "${host1[@]}" "${command[@]}" >"$tmp/server" 2>&1 &
	pid=$!
	if wait_listen "$port" $pid; then
		timeout 80 "${host2[@]}" "$@" >"$tmp/client" 2>&1 || rc=$?
	else
		echo 'the server does not listen' >"$tmp/client"
		rc=1
	fi
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	return $rc
}

explain() {
	sed 's/^/         client: /' "$tmp/client"
	sed 's/^/         server: /' "$tmp/server"
}

make_hosts() {
	run rdma system set netns exclusive &&
		run ip netns add host1 && run ip netns add host2 &&
		run ip link add eth0 netns host1 mtu 1500 type veth peer name eth0 netns host2 mtu 1500 || return
	local n
	for n in 1 2; do
		ip -n host$n link set lo up
		run ip -n host$n address add 10.0.0.$n/24 dev eth0 &&
			run ip -n host$n link set eth0 up || return
	done
	run modprobe "$type"
}

links() {
	local n
	# do not let the kernel log crashes: a perftest client crashes if it connects too early
	{ echo 0 >/proc/sys/debug/exception-trace; } 2>/dev/null
	make_hosts &&
		run "${host1[@]}" rdma link add iwt1 type "$type" netdev "$dev1" &&
		run "${host2[@]}" rdma link add iwt2 type "$type" netdev "$dev2" || return
	for n in 1 2; do
		on host$n rdma link show | grep "iwt$n/1 state ACTIVE" >"$tmp/link" || return
		[ -n "$quiet" ] || cat "$tmp/link"
	done
	for n in 1 2 3 4 5; do
		! on host2 ping -c 1 -W 1 $server >/dev/null || return 0
	done
	return 1
}

# crc on|off: turns the CRC on or off for new connections, on both links
crc() {
	local n top=/sys/kernel/config/iw_tcp
	[ "$type" = iw_tcp ] || return 0
	modprobe -q configfs
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config || return
	for n in 1 2; do
		mkdir -p $top/iwt$n && run_set "$1" $top/iwt$n/crc || return
	done
}

run_set() {
	progress "# echo $1 >$2"
	echo "$1" >"$2"
}

rping_row() {
	local count=100 size=4096 good
	progress "rping -V: $count round trips of $size bytes"
	between 7174 rping -s -a $server -C $count -S $size -V -- \
		rping -c -a $server -C $count -S $size -v -V
	local rc=$?
	# rping prints a line for each buffer that returned and compared equal
	good=$(grep -c '^ping data: ' "$tmp/client")
	if [ $rc = 0 ] && [ "$good" = $count ] && ! grep -q mismatch "$tmp/client" "$tmp/server"; then
		row rping "$count round trips of 4 KB, data verified" "$good verified" ok
	else
		explain
		row rping "$count round trips of 4 KB, data verified" "$good verified" FAILED
	fi
}

# say COMMAND...: runs COMMAND; shows COMMAND and its output, without lines whose last word is 0
# (counters)
say() {
	[ -n "$quiet" ] || printf '\n# %s\n' "$*"
	"$@" >"$tmp/said" 2>&1 || { cat "$tmp/said"; return 1; }
	[ -n "$quiet" ] || sed '/ 0 *$/d' "$tmp/said"
}

# has PATTERN: does the output of the last command of say() have a line that matches PATTERN?
has() { grep -Eq "$1" "$tmp/said"; }

# state: shows what rdma and ss report about a connection. Fails unless rdma shows the queue pair,
# ss shows its TCP connection, and the counter of sent Sends is not 0.
state() {
	say "${host2[@]}" rdma resource show qp link iwt2 && has 'state RTS' &&
		say "${host2[@]}" ss -Htn dport = 7174 && has "$server:7174" &&
		say "${host2[@]}" rdma statistic show link iwt2/1 && has 'tx_send [1-9]'
}

state_row() {
	local pid rc=0
	progress "rdma and ss show a connection and its counters"
	"${host1[@]}" rping -s -a $server -C 1000000 -S 4096 >/dev/null 2>&1 &
	pid=$!
	wait_listen 7174 $pid && { "${host2[@]}" rping -c -a $server -C 1000000 -S 4096 >/dev/null 2>&1 & }
	for _ in $(seq 100); do
		on host2 rdma resource show qp link iwt2 | grep -q RTS && break
		sleep 0.2
	done
	state || rc=1
	kill $pid $! 2>/dev/null
	wait $pid $! 2>/dev/null
	row 'rdma, ss' 'show the connection and its counters' '' "$([ $rc = 0 ] && echo ok || echo FAILED)"
}

# nfs_steps MEGABYTES: exports a directory on host1, and mounts the directory on host2; writes and
# reads a file of this size. Fails unless the data are unchanged.
nfs_steps() {
	local steps=$here/../lib/nfs_roles.sh dir=$tmp/nfs pid rc=0
	mkdir -p "$dir"
	NFS_FROM=$server:/srv on host1 unshare -m "$steps" server "$dir" >"$dir/server" 2>&1 &
	pid=$!
	until [ -e "$dir/started" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.2; done
	NFS_FROM=$server:/srv on host2 unshare -m "$steps" client "$dir" "$1"
	touch "$dir/stop"
	wait $pid || rc=1
	[ "$(cat "$dir/read.rc" "$dir/umount.rc" 2>/dev/null | sort -u)" = 0 ] && return $rc
	cat "$dir"/*.log "$dir/server"
	return 1
}

nfs_row() {
	local what='8 MB written, mounted again, compared' rc=0
	progress "mount.nfs -o proto=rdma: 8 MB over RDMA"
	modprobe -a rpcrdma nfsd nfs nfsv4 && nfs_steps 8 >"$tmp/client" 2>&1 || rc=1
	[ $rc = 0 ] || explain
	[ -n "$quiet" ] || grep -h proto=rdma "$tmp/nfs/mount.log"
	row 'NFS over RDMA' "$what" '' "$([ $rc = 0 ] && echo ok || echo FAILED)"
}

positive() { awk -v n="${1:-0}" 'BEGIN { exit !(n ~ /^[0-9.]+$/ && n > 0) }'; }

# unlucky: did the last run fail for a reason that does not count, so that it must be repeated?
# There are two such reasons. If perftest cannot measure the frequency of the processor, it prints
# "Can't produce a report" (or 0, and then perftest() repeats the run, too). And if the server
# begins to listen too late, the client is rejected.
unlucky() { grep -Eq "Can't produce a report|EVENT_REJECTED" "$tmp/client"; }

# perftest TOOL WHAT UNIT COLUMN OPTION...: runs the program TOOL of perftest, and adds a row to the
# table: the number in the column COLUMN of its output, in UNIT. Adds a bandwidth to the chart, too.
perftest() {
	local tool=$1 what=$2 unit=$3 column=$4 n value=''
	shift 4
	progress "$tool: $what"
	for n in 1 2 3 4 5; do
		between $port "$tool" -R -F -d iwt1 -p $port "$@" -- \
			"$tool" -R -F -d iwt2 -p $port "$@" $server ||
			unlucky || break
		value=$(awk -v c="$column" '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF > 4 { v = $c } END { print v }' "$tmp/client")
		if positive "$value"; then
			row "$tool" "$what" "$value $unit" ok
			[ "$unit" != Gb/s ] || bar "$what" "$value"
			return
		fi
	done
	explain
	row "$tool" "$what" "${value:--} $unit" FAILED
}

bandwidth() { perftest "$1" "$2" Gb/s 4 -s 65536 -n "$3" --report_gbits; }
latency() { perftest "$1" "$2, 8 bytes" us 5 -s 8 -n 500; }

iperf_row() {
	local what='TCP without RDMA' value
	progress "iperf3: $what"
	between 5201 iperf3 -s -1 -- iperf3 -c $server -t 3 -l 64K -f g
	value=$(awk '/receiver/ { print $7 }' "$tmp/client")
	if positive "$value"; then
		row iperf3 "$what" "$value Gb/s" ok
		bar "$what" "$value"
	else
		explain
		row iperf3 "$what" - FAILED
	fi
}

emulated() { grep -q QEMU /sys/class/dmi/id/sys_vendor 2>/dev/null; }

# chart: draws a bar for the speed of each stream; the longest bar has 40 characters
chart() {
	local i
	[ ${#names[@]} -gt 0 ] || return
	printf '\nSpeed of one stream of 64 KB messages, in Gb/s\n\n'
	for ((i = 0; i < ${#names[@]}; i++)); do printf '%s\t%s\n' "${figures[$i]}" "${names[$i]}"; done |
		awk -F'\t' '{ v[NR] = $1; name[NR] = $2; if ($1 > most) most = $1 }
			END { for (i = 1; i <= NR; i++) {
				n = int(v[i] * 40 / most + 0.5); bar = ""
				while (length(bar) < n) bar = bar "#"
				printf "  %-26s |%-40s %6.2f\n", name[i], bar, v[i] } }'
}

table() {
	printf '\n%s between two hosts, kernel %s, %s\n\n' "$type" "$(uname -r)" "$path"
	printf '%-14s %-42s %14s   %s\n' TOOL WHAT RESULT ''
	printf '%s\n' "${rows[@]}"
	chart
}

# notes: explains the numbers in the chart
notes() {
	[ ${#names[@]} -gt 0 ] || return
	cat <<-end

	TCP computes no checksum here, so compare TCP with the rows without CRC. The CRC32c protects
	the data from end to end, and is on by default. It is slow in this machine, because this kernel
	does not use the processor's instruction for CRC32c. Both hosts share one computer: compare the
	figures with each other, not with the figures of real machines.
	end
}

# streams: measures TCP, and streams without CRC, which can be compared with TCP; then Writes with
# CRC. The streams are so long that a pause of the machine hardly changes the results.
streams() {
	local n=$messages
	crc off || row configfs 'settings of the links' - FAILED
	bandwidth ib_write_bw 'RDMA Write, no CRC' $n
	iperf_row
	bandwidth ib_read_bw 'RDMA Read, no CRC' $n
	bandwidth ib_send_bw 'Send, no CRC' $n
	crc on || row configfs 'settings of the links' - FAILED
	bandwidth ib_write_bw 'RDMA Write, CRC32c' $((n / 4))
}

settings_end() { rmdir /sys/kernel/config/iw_tcp/iwt[12] 2>/dev/null; }

speed() {
	streams
	latency ib_write_lat 'RDMA Write'
	latency ib_send_lat 'Send'
	latency ib_read_lat 'RDMA Read'
	settings_end
}

demo() {
	if links; then
		rping_row
		state_row
		nfs_row
		# the speed of an emulated processor says nothing about a real one
		emulated || speed
		run "${host1[@]}" rdma link delete iwt1 || row rdma 'link delete' - FAILED
		run "${host2[@]}" rdma link delete iwt2 || row rdma 'link delete' - FAILED
	else
		row rdma 'a link on each of two hosts' - FAILED
	fi
	table
	notes
	rm -rf "$tmp"
	[ $failed = 0 ]
}

[ "${BASH_SOURCE[0]}" != "$0" ] || demo
