#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Side by side in one boot, interleaved: RDMA Writes of 64 KB through iw_tcp and
# through siw, and plain TCP (iperf3), over the same net devices with MTU 1500.
# No CRC. Prints every round, the medians and their ratios; judges nothing.
#
#   quick-uml.sh [ROUNDS]
#
# Outside of a laboratory it starts itself in the uml one, whose kernel code
# runs at the processor's own speed.

here=$(dirname "$(realpath "$0")")
rounds=${1:-3}
if [ ! -e /opt/iw_tcp/vm/run.env ]; then
	exec "$here/../vm/run" --lab uml --time $((rounds * 150)) "$0" "$rounds"
fi

# shellcheck source=tests/lib/ktap.sh
. "$here/../lib/ktap.sh"
# shellcheck source=tests/lib/net.sh
. "$here/../lib/net.sh"

# Paths: one is between two namespaces, one within a namespace through lo
LO=10.77.9.1
paths="veth lo"

prepare() {
	net_setup 1500 || return
	ip -n "$NS_A" link set lo mtu 1500
	ip -n "$NS_A" link add iwt-dummy mtu 1500 type dummy &&
		ip -n "$NS_A" addr add $LO/32 dev iwt-dummy &&
		ip -n "$NS_A" link set iwt-dummy up
}

links_up() { # PATH TYPE
	if [ "$1" = veth ]; then
		link_add "$NS_A" "$DEV_A" "$IF_A" "$2" && link_add "$NS_B" "$DEV_B" "$IF_B" "$2"
	else
		link_add "$NS_A" "$DEV_A" iwt-dummy "$2"
	fi
}

links_down() {
	link_del "$NS_A" "$DEV_A"
	[ "$1" != veth ] || link_del "$NS_B" "$DEV_B"
}

positive() { awk -v n="${1:-0}" 'BEGIN { exit !(n ~ /^[0-9.]+$/ && n > 0) }'; }

# rdma PATH TYPE MESSAGES: prints Gb/s. perftest's figure comes from the clock
# of the CPU, which it cannot always measure (then it prints 0): try again
rdma_bw() {
	local path=$1 type=$2 n=$3 to=$IP_A client=$NS_B dev=$DEV_B value='' opt
	[ "$path" = veth ] || { to=$LO; client=$NS_A; dev=$DEV_A; }
	opt=(-R -F -s 65536 -n "$n" --report_gbits -p 18515)
	links_up "$path" "$type" || return
	for _ in 1 2 3 4 5; do
		start ip netns exec "$NS_A" ib_write_bw "${opt[@]}" -d "$DEV_A" --bind_source_ip $to >"$TMP/server" 2>&1
		wait_listen "$NS_A" 18515
		timeout 60 ip netns exec "$client" ib_write_bw "${opt[@]}" -d "$dev" $to >"$TMP/client" 2>&1
		ended "$PID" 10 >/dev/null
		value=$(awk '$1 == 65536 && NF > 4 { v = $4 } END { print v }' "$TMP/client")
		! positive "$value" || break
	done
	links_down "$path"
	positive "$value" || { diag <"$TMP/client" >&2; diag <"$TMP/server" >&2; value=-; }
	echo "$value"
}

tcp_bw() { # PATH
	local to=$IP_A client=$NS_B value
	[ "$1" = veth ] || { to=$LO; client=$NS_A; }
	start ip netns exec "$NS_A" iperf3 -s -1 >"$TMP/server" 2>&1
	wait_listen "$NS_A" 5201
	timeout 60 ip netns exec "$client" iperf3 -c $to -t 3 -l 128K -f g >"$TMP/client" 2>&1
	ended "$PID" 10 >/dev/null
	value=$(awk '/receiver/ { print $7 }' "$TMP/client")
	echo "${value:--}"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f\n", a / b; else print "-" }'; }

# a perftest client that connects before its server listens crashes
{ echo 0 >/proc/sys/debug/exception-trace; } 2>/dev/null
modprobe iw_tcp crc=off || exit
modprobe siw || exit
prepare || exit
printf '64 KB RDMA Write and TCP in Gb/s, MTU 1500, no CRC, kernel %s\n\n' "$(uname -r)"
printf '%-6s %-6s %8s %8s %8s\n' PATH ROUND iw_tcp siw TCP
for ((r = 1; r <= rounds; r++)); do
	for path in $paths; do
		ours=$(rdma_bw "$path" iw_tcp 10000)
		siw=$(rdma_bw "$path" siw 2000)
		tcp=$(tcp_bw "$path")
		echo "$ours" >>"$TMP/$path.ours"
		echo "$siw" >>"$TMP/$path.siw"
		echo "$tcp" >>"$TMP/$path.tcp"
		printf '%-6s %-6s %8s %8s %8s\n' "$path" "$r" "$ours" "$siw" "$tcp"
	done
done
echo
printf '%-6s %-6s %8s %8s %8s   %s   %s\n' PATH '' iw_tcp siw TCP iw_tcp/siw iw_tcp/TCP
for path in $paths; do
	ours=$(median "$TMP/$path.ours") siw=$(median "$TMP/$path.siw") tcp=$(median "$TMP/$path.tcp")
	printf '%-6s %-6s %8s %8s %8s   %10s   %10s\n' "$path" median "$ours" "$siw" "$tcp" \
		"$(ratio "$ours" "$siw")" "$(ratio "$ours" "$tcp")"
done
