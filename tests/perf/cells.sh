# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Measures one figure of one contestant: one cell of the table of figures. The functions cell_*
# print "VALUE UNIT" and succeed, or fail; then the last line of $TMP/said is the reason. Needs
# lib/net.sh, cases.sh and paths.sh.
#
#	CELL_MS		milliseconds for which a stream runs
#	C_ROUND		number of the round
#	CELL_INSN	if set, the machine's clock counts instructions
#	CELL_LIMIT	seconds until a client or a server is killed (90)
#	LISTEN_LIMIT	seconds until a server must listen (20)

PORT=18600
LO=10.77.9.1
CELL_LIMIT=90
LISTEN_LIMIT=20
# CPU_A: the processor on which servers run; CPU_B: the processor on which clients run
CPU_B=0
CPU_A=$(($(nproc) > 1 ? 1 : 0))

# no_memory NS...: makes TCP in these namespaces forget the metrics of earlier connections, so that
# all connections begin alike. Also allows more local ports, for many connections.
no_memory() {
	local ns
	for ns; do
		in_net "$ns" sysctl -qw net.ipv4.ip_local_port_range="19000 65535" net.ipv4.tcp_no_metrics_save=1 || return
	done
}

# net_prepare: makes the namespaces A and B, and in A a dummy net device with MTU 65536 and the
# address $LO
net_prepare() {
	net_setup 1500 && no_memory "$NS_A" "$NS_B" || return
	ip -n "$NS_A" link add iwt-dummy mtu 65536 type dummy &&
		ip -n "$NS_A" addr add $LO/32 dev iwt-dummy &&
		ip -n "$NS_A" link set iwt-dummy up &&
		ip -n "$NS_A" link set lo mtu 65536
}

# mtu_is MTU: sets up a path with this MTU. Sets SERVER to the address of the server, which runs in
# the namespace A, and CLIENT to the name of the namespace in which the client runs.
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

# together SERVER-COMMAND -- CLIENT-COMMAND: runs the server and, when the server has printed
# "listening", the client. Returns the exit status of the client. The client's output is in
# $TMP/client, the server's output after "listening" is in $TMP/server, and the error output of both is
# in $TMP/said.
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
	cat <&"$fd" >"$TMP/server"
	wait "$pid" 2>/dev/null
	exec {fd}<&-
	[ $rc -eq 0 ] || sed 's/^/# /' "$TMP/said" >&2
	return $rc
}

# both_said STATUS: adds a line to $TMP/said, the output of the server, with the last lines of the
# server and of the client, which ended with STATUS: either of them may have failed first
both_said() { echo "server: $(last_said "$TMP/said"); client, status $1: $(last_said "$TMP/client")" >>"$TMP/said"; }
# last_said FILE: prints the last line that is neither empty nor a rule of dashes
last_said() { grep -vE '^[-[:space:]]*$' "$1" | tail -n 1; }

# of KEY: prints the number after "KEY=" in the output of the client
of() { sed -n "s/.*\<$1=\([0-9]*\).*/\1/p" "$TMP/client"; }

calc() { awk "BEGIN { printf \"%.6g\", $* }"; }

# value: computes the figure of the case from the output of the client; prints "VALUE UNIT"
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
	lat | hole) echo "$(calc "$p50 / 1000") us" ;;
	tail) echo "$(calc "$(of "${C_QUANTILE}_ns") / 1000") us" ;;
	mean)
		# the time of a Write or Send includes the reply, so half of the time counts
		[[ $C_OP == @(read|atomic) ]] || ns=$((ns / 2))
		echo "$(calc "$ns / $messages / 1000") us" ;;
	conn) echo "$(calc "$messages * 1e9 / $ns") connections/s" ;;
	mem) echo "$(calc "$octets / $messages / 1024") KB" ;;
	disk)
		if [ "$C_SIZE" -ge 65536 ]; then
			echo "$(calc "$octets * 1e3 / $ns") MB/s"
		elif [ "$C_OP" = create ]; then
			echo "$(calc "$messages * 1e9 / $ns") files/s"
		else
			echo "$(calc "$messages * 1e9 / $ns") IO/s"
		fi ;;
	insn | two)
		if [ -n "$C_DISK" ] && [ "$C_SIZE" -lt 65536 ]; then
			echo "$(calc "($ns - $idle) / $messages") instructions/operation"
		elif [ "$C_SIZE" -ge 1024 ]; then
			echo "$(calc "($ns - $idle) / $octets") instructions/B"
		else
			echo "$(calc "($ns - $idle) / $messages") instructions/message"
		fi ;;
	esac
}

# how_long TIMES: sets HOW to the options of iwt_bench and iwt_tcpref that determine how long a run
# lasts: usually CELL_MS milliseconds (for the kind "path" multiplied by path_times()). If the
# clock counts instructions, a run (except of the kind "path") has a fixed number of messages
# instead, multiplied by TIMES (between two machines by 32). Streams first send messages that are
# not measured, because TCP begins each connection slowly.
how_long() {
	local n warm
	HOW=(-t "$CELL_MS")
	[[ $C_KIND != @(flow|rate) ]] || HOW+=(-w $((C_QPS * (C_SIZE > 1048576 ? 1 : 8))))
	[ "$C_KIND" != path ] || HOW=(-t $((CELL_MS * $(path_times))) -w 64)
	[ -n "${CELL_INSN:-}" ] && [ "$C_KIND" != path ] || return 0
	n=$((24 * 1048576 / C_SIZE))
	[ $n -lt 20000 ] || n=20000
	[ $n -gt 24 ] || n=24
	# Between two machines a stream must be longer, because the speed becomes steady later, and
	# the number of wakeups varies
	[ "$C_KIND" != two ] || set -- 32
	n=$((n * $1)) warm=$n
	# at least 16 messages on each connection, so that the first and the last matter little
	[ $n -ge $((C_QPS * 16)) ] || n=$((C_QPS * 16))
	[ $warm -ge $((C_QPS * 8)) ] || warm=$((C_QPS * 8))
	HOW=(-n "$n" -w "$warm")
}

# kept TYPE: prints the name of the file in which a case "lat" saves the output of the client. The
# next case "mean" with the same options uses this output, because one run measures both.
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
	# Keep only 8 messages outstanding, not 128. When the time is over, the outstanding messages
	# must still arrive. On a slow path, 128 messages would take longer than the time of the
	# measurement, and the figure could not be compared with TCP's.
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

# cell_tcp [-D]: measures a TCP stream; with -D the receiving kernel discards the data, so that no
# process reads them
cell_tcp() { # [-D]
	local opts=("$@")
	# a longer run, because the number of wakeups of TCP's reader varies from run to run
	how_long 4
	[[ $C_KIND != @(lat|mean) ]] || opts+=(-l)
	[ "$C_KIND" != mem ] || opts+=(-m)
	opts+=(-S "$C_SIZE" -q "$C_QPS" "${HOW[@]}" -a "$SERVER" -p $((PORT + 1)))
	together "$IWT_BIN/iwt_tcpref" -s "${opts[@]}" -- "$IWT_BIN/iwt_tcpref" -c ${CELL_INSN:+-I} "${opts[@]}" &&
		value
}

# cell_iperf3: measures a stream of iperf3, which accepts only whole seconds: CELL_MS is rounded up
cell_iperf3() {
	local pid opts=(-c "$SERVER" -t $(((CELL_MS + 999) / 1000)) -l 128K -f m -P "$C_QPS") rc sum
	[ -z "$C_BIDIR" ] || opts+=(--bidir)
	start taskset -c "$CPU_A" ip netns exec "$NS_A" iperf3 -s -1 >"$TMP/said" 2>&1
	pid=$PID
	wait_listen "$NS_A" 5201
	timeout -k 2 60 taskset -c "$CPU_B" ip netns exec "$CLIENT" iperf3 "${opts[@]}" >"$TMP/client" 2>&1
	rc=$?
	[ $rc -eq 0 ] || { stop "$pid"; both_said $rc; sed 's/^/# /' "$TMP/client" >&2; }
	ended "$pid" 10 >/dev/null
	sum=$(awk -v many="$((C_QPS > 1))" '/receiver/ && (!many || /SUM/) {
		for (i = 2; i <= NF; i++) if ($i == "Mbits/sec") s += $(i - 1) } END { print s / 1000 }' "$TMP/client")
	[ $rc -eq 0 ] && [ "$sum" != 0 ] && echo "$sum Gb/s"
}

# perftest_figure: prints the figure of the case from the output of the client, with its unit
perftest_figure() {
	awk -v size="$C_SIZE" -v what="$C_PERFTEST" '
		$1 != size || NF < 5 { next }
		what == "bw" && $4 > 0 && $4 < 10000 { v = $4 " Gb/s" }
		what == "rate" && $5 > 0 { v = $5 * 1e6 " messages/s" }
		what == "lat" && $5 > 0 { v = $5 " us" }
		END { if (!v) exit 1; print v }' "$TMP/client"
}

# cell_perftest: measures with perftest, in up to five attempts. perftest prints the figure 0 if
# it cannot measure the clock rate of the processor, and its client fails if the server does not
# listen yet.
cell_perftest() { # TYPE
	local n=2000 sum='' rc program=ib_${C_OP}_bw opts server=()
	[ "$1" != iw_tcp ] || n=10000
	[ "$C_PERFTEST" != rate ] || n=100000
	opts=(-F -s "$C_SIZE" -n "$n" -p 18515)
	case $C_PERFTEST in
	bw) opts+=(--report_gbits) ;;
	lat) program=ib_${C_OP}_lat ;;
	esac
	[ -n "$C_DIRECT" ] || opts+=(-R) server=(--bind_source_ip "$SERVER")
	links_up "$1" || return
	for _ in 1 2 3 4 5; do
		start taskset -c "$CPU_A" ip netns exec "$NS_A" "$program" "${opts[@]}" -d "$DEV_A" "${server[@]}" >"$TMP/said" 2>&1
		wait_listen "$NS_A" 18515
		timeout -k 2 30 taskset -c "$CPU_B" ip netns exec "$CLIENT" "$program" "${opts[@]}" -d "$DEV_B" "$SERVER" >"$TMP/client" 2>&1
		rc=$?
		ended "$PID" 10 >/dev/null
		sum=$(perftest_figure) && break
		both_said $rc
	done
	links_down
	[ -n "$sum" ] && echo "$sum"
}

cell_stream() { # CONTESTANT
	case $1 in
	tcp) cell_tcp ;;
	discard) cell_tcp -D ;;
	iperf3) cell_iperf3 ;;
	*) cell_rdma "$1" ;;
	esac
}

# cell CONTESTANT: measures the case of the last case_parse()
cell() {
	case $C_KIND:$C_DISK in
	*:?*) cell_disk "$1" ;;
	two:) cell_two "$1" ;;
	hole:) cell_hole "$1" ;;
	tail:) cell_tail "$1" ;;
	perftest:) cell_perftest "$1" ;;
	*) cell_stream "$1" ;;
	esac
}
