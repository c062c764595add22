# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Measures one figure of one contestant (a cell of the table). Each function cell_KIND prints "VALUE
# UNIT" and succeeds, or prints the error on standard error. Needs lib/net.sh, cases.sh and
# paths.sh.
#
#	CELL_MS		milliseconds that a stream goes on
#	CELL_INSN	if set, the clock counts instructions

PORT=18600
LO=10.77.9.1
CELL_LIMIT=90
LISTEN_LIMIT=20
# the processors of the server and of the client
CPU_B=0
CPU_A=$(($(nproc) > 1 ? 1 : 0))

# no_memory NS...: resets what TCP remembers of earlier connections, so that all connections begin
# alike; provides ports for many connections
no_memory() {
	local ns
	for ns; do
		in_net "$ns" sysctl -qw net.ipv4.ip_local_port_range="19000 65535" net.ipv4.tcp_no_metrics_save=1 || return
	done
}

# net_prepare: makes two namespaces, and prepares lo of A for large MTUs
net_prepare() {
	net_setup 1500 && no_memory "$NS_A" "$NS_B" || return
	ip -n "$NS_A" link add iwt-dummy mtu 65536 type dummy &&
		ip -n "$NS_A" addr add $LO/32 dev iwt-dummy &&
		ip -n "$NS_A" link set iwt-dummy up &&
		ip -n "$NS_A" link set lo mtu 65536
}

# mtu_is MTU: sets up a path with this MTU. Sets SERVER to the server's address, which is in the
# namespace A, and CLIENT to the name of the client's namespace.
mtu_is() {
	SERVER=$IP_A CLIENT=$NS_B
	if [ "$1" = 65536 ]; then
		SERVER=$LO CLIENT=$NS_A
		return
	fi
	ip -n "$NS_A" link set "$IF_A" mtu "$1" && ip -n "$NS_B" link set "$IF_B" mtu "$1"
}

links_up() { # TYPE
	if [ "$CLIENT" = "$NS_A" ]; then
		link_add "$NS_A" "$DEV_A" iwt-dummy "$1"
	else
		link_add "$NS_A" "$DEV_A" "$IF_A" "$1" && link_add "$NS_B" "$DEV_B" "$IF_B" "$1"
	fi
}

links_down() {
	link_del "$NS_A" "$DEV_A"
	[ "$CLIENT" = "$NS_A" ] || link_del "$NS_B" "$DEV_B"
	# shellcheck disable=SC2034
	MADE_DEV=()
}

# together SERVER-COMMAND -- CLIENT-COMMAND: runs both; the server prints "listening" when it
# listens.
# The client's output is in $TMP/client, the error output of both is in $TMP/said.
together() {
	local server=() fd pid line rc=1
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	: >"$TMP/client"
	: >"$TMP/said"
	exec {fd}< <(exec timeout -k 2 $CELL_LIMIT taskset -c "$CPU_A" ip netns exec "$NS_A" "${server[@]}" 2>>"$TMP/said")
	pid=$!
	if read -rt $LISTEN_LIMIT line <&"$fd" && [ "$line" = listening ]; then
		timeout -k 2 $CELL_LIMIT taskset -c "$CPU_B" ip netns exec "$CLIENT" "$@" >"$TMP/client" 2>>"$TMP/said"
		rc=$?
		[ $rc -ne 124 ] || echo "the client has not ended within $CELL_LIMIT s" >>"$TMP/said"
	else
		echo "the server does not listen" >>"$TMP/said"
	fi
	# the server ends by itself, except in "conn"
	if [ $rc -ne 0 ] || [ "$C_KIND" = conn ]; then kill "$pid" 2>/dev/null; fi
	busywait 10 not alive "$pid" || kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	exec {fd}<&-
	[ $rc -eq 0 ] || sed 's/^/# /' "$TMP/said" >&2
	return $rc
}

# of KEY: prints the number KEY from the client's line
of() { sed -n "s/.*\<$1=\([0-9]*\).*/\1/p" "$TMP/client"; }

calc() { awk "BEGIN { printf \"%.6g\", $* }"; }

# value: computes the case's figure from the client's line
value() {
	local messages octets ns idle p50
	messages=$(of messages) octets=$(of octets) ns=$(of ns) idle=$(of idle_ns) p50=$(of p50_ns)
	if [ "${messages:-0}" -eq 0 ] || [ "${ns:-0}" -eq 0 ]; then
		echo "nothing was measured: $(tail -n 1 "$TMP/client")" >>"$TMP/said"
		return 1
	fi
	case $C_KIND in
	flow | path) echo "$(calc "$octets * 8 / $ns") Gb/s" ;;
	rate) echo "$(calc "$messages * 1e9 / $ns") messages/s" ;;
	lat) echo "$(calc "$p50 / 1000") us" ;;
	mean)
		# half of the time of a Write or Send and its reply
		[[ $C_OP == @(read|atomic) ]] || ns=$((ns / 2))
		echo "$(calc "$ns / $messages / 1000") us" ;;
	conn) echo "$(calc "$messages * 1e9 / $ns") connections/s" ;;
	mem) echo "$(calc "$octets / $messages / 1024") KB" ;;
	insn | two)
		if [ "$C_SIZE" -ge 1024 ]; then
			echo "$(calc "($ns - $idle) / $octets") instructions/B"
		else
			echo "$(calc "($ns - $idle) / $messages") instructions/message"
		fi ;;
	esac
}

# how_long TIMES: sets HOW, the options of iwt_bench and iwt_tcpref for the length of a run. Usually
# a run lasts for a time. If the clock counts instructions, a run has a number of messages,
# multiplied by TIMES (between two machines by 32). Streams are warmed up, because TCP begins each
# connection slowly.
how_long() {
	local n warm
	HOW=(-t "$CELL_MS")
	[[ $C_KIND != @(flow|rate) ]] || HOW+=(-w $((C_QPS * (C_SIZE > 1048576 ? 1 : 8))))
	[ "$C_KIND" != path ] || HOW=(-t $((CELL_MS * $(path_times))) -w 64)
	[ -n "${CELL_INSN:-}" ] && [ "$C_KIND" != path ] || return 0
	n=$((24 * 1048576 / C_SIZE))
	[ $n -lt 20000 ] || n=20000
	[ $n -gt 24 ] || n=24
	# Between two machines a stream takes longer to become steady, and its number of wakeups
	# varies
	[ "$C_KIND" != two ] || set -- 32
	n=$((n * $1)) warm=$n
	# Each connection needs so many messages that its first and last messages matter little
	[ $n -ge $((C_QPS * 16)) ] || n=$((C_QPS * 16))
	[ $warm -ge $((C_QPS * 8)) ] || warm=$((C_QPS * 8))
	HOW=(-n "$n" -w "$warm")
}

# kept TYPE: prints the name of the file with the results of a run for a case "lat". The case "mean"
# of the same contestant uses these results, because one run measures both.
kept() { echo "$TMP/kept.$1.$C_OP.$C_SIZE.$C_SRQ.$C_ODP"; }

cell_rdma() { # TYPE
	local opts=() rc
	if [ "$C_KIND" = mean ] && [ -e "$(kept "$1")" ]; then
		mv "$(kept "$1")" "$TMP/client"
		value
		return
	fi
	how_long 1
	case $C_KIND in
	lat | mean) opts=(-m lat -w 200) ;;
	conn) opts=(-m conn) ;;
	mem) opts=(-m mem) ;;
	# Messages that are outstanding at the end of the time must still arrive. On a slow path
	# 128 messages would take longer than the measured time, and the figure would not be
	# comparable to TCP's.
	path) opts=(-d 8) ;;
	esac
	opts+=(-o "$C_OP" -S "$C_SIZE" -q "$C_QPS" "${HOW[@]}" -a "$SERVER" -p "$PORT")
	[ -z "$C_BIDIR" ] || opts+=(-b)
	[ -z "$C_SRQ" ] || opts+=(-r)
	[ -z "$C_ODP" ] || opts+=(-k)
	[ -z "${CELL_INSN:-}" ] || opts+=(-e)
	links_up "$1" || return
	together "$IWT_BIN/iwt_bench" -s "${opts[@]}" -- "$IWT_BIN/iwt_bench" -c ${CELL_INSN:+-I} "${opts[@]}"
	rc=$?
	links_down
	[ $rc -eq 0 ] || return
	[ "$C_KIND" != lat ] || cp "$TMP/client" "$(kept "$1")"
	value
}

# cell_tcp [-D]: with -D the kernel of the receiver discards the messages
cell_tcp() { # [-D]
	local opts=("$@")
	# the number of wakeups of TCP's reader varies from run to run
	how_long 4
	[[ $C_KIND != @(lat|mean) ]] || opts+=(-l)
	[ "$C_KIND" != mem ] || opts+=(-m)
	opts+=(-S "$C_SIZE" -q "$C_QPS" "${HOW[@]}" -a "$SERVER" -p $((PORT + 1)))
	together "$IWT_BIN/iwt_tcpref" -s "${opts[@]}" -- "$IWT_BIN/iwt_tcpref" -c ${CELL_INSN:+-I} "${opts[@]}" &&
		value
}

# iperf3 accepts only whole seconds
cell_iperf3() {
	local pid opts=(-c "$SERVER" -t $(((CELL_MS + 999) / 1000)) -l 128K -f m -P "$C_QPS") rc sum
	[ -z "$C_BIDIR" ] || opts+=(--bidir)
	start taskset -c "$CPU_A" ip netns exec "$NS_A" iperf3 -s -1 >"$TMP/said" 2>&1
	pid=$PID
	wait_listen "$NS_A" 5201
	timeout -k 2 60 taskset -c "$CPU_B" ip netns exec "$CLIENT" iperf3 "${opts[@]}" >"$TMP/client" 2>&1
	rc=$?
	[ $rc -eq 0 ] || { stop "$pid"; sed 's/^/# /' "$TMP/client" >&2; }
	ended "$pid" 10 >/dev/null
	sum=$(awk -v many="$((C_QPS > 1))" '/receiver/ && (!many || /SUM/) {
		for (i = 2; i <= NF; i++) if ($i == "Mbits/sec") s += $(i - 1) } END { print s / 1000 }' "$TMP/client")
	[ $rc -eq 0 ] && [ "$sum" != 0 ] && echo "$sum Gb/s"
}

# perftest needs the clock rate of the processor for its figure. It cannot always measure the
# rate, and then prints 0. Its client may also connect before its server listens. In both cases
# try again.
cell_perftest() { # TYPE
	local n=2000 sum='' opts
	[ "$1" != iw_tcp ] || n=10000
	opts=(-R -F -s "$C_SIZE" -n "$n" --report_gbits -p 18515)
	links_up "$1" || return
	for _ in 1 2 3 4 5; do
		start taskset -c "$CPU_A" ip netns exec "$NS_A" "ib_${C_OP}_bw" "${opts[@]}" -d "$DEV_A" --bind_source_ip "$SERVER" >"$TMP/said" 2>&1
		wait_listen "$NS_A" 18515
		timeout -k 2 30 taskset -c "$CPU_B" ip netns exec "$CLIENT" "ib_${C_OP}_bw" "${opts[@]}" -d "$DEV_B" "$SERVER" >"$TMP/client" 2>&1
		ended "$PID" 10 >/dev/null
		sum=$(awk -v size="$C_SIZE" '$1 == size && NF > 4 && $4 > 0 && $4 < 10000 { v = $4 } END { print v }' "$TMP/client")
		[ -z "$sum" ] || break
	done
	links_down
	[ -n "$sum" ] && echo "$sum Gb/s"
}

# cell CONTESTANT: measures the case that case_parse has parsed
cell() {
	case $C_KIND:$1 in
	nvme:*) cell_nvme "$1" ;;
	two:*) cell_two "$1" ;;
	perftest:*) cell_perftest "$1" ;;
	*:tcp) cell_tcp ;;
	*:discard) cell_tcp -D ;;
	*:iperf3) cell_iperf3 ;;
	*) cell_rdma "$1" ;;
	esac
}
