# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Measures what placing ahead saves: the time after a gap closes (hole), and the delays of messages
# on paths that lose or delay segments (tail). Needs cells.sh.

HOLE=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../peer/hole.py

# big_windows NS...: lets TCP's receive buffers grow to 32 MB from the beginning of a connection
big_windows() {
	local ns
	sysctl -qw net.core.rmem_max=33554432 2>/dev/null
	for ns; do
		in_net "$ns" sysctl -qw net.ipv4.tcp_rmem="4096 33554432 33554432" \
			net.ipv4.tcp_wmem="4096 4194304 33554432" || return
	done
}

# cell_hole CONTESTANT: the peer, in B, has its own TCP; the program that receives is in A
cell_hole() {
	local opts=(--here "$IP_B" --there "$IP_A" --interface "$IF_B" --octets "$C_SIZE" --run "ip netns exec $NS_A"
		--ulp "taskset -c $CPU_A $IWT_BIN/iwt_ulp")
	big_windows "$NS_A" || return
	[ "$C_CRC" = off ] || opts+=(--crc)
	if [ "$1" = tcp ]; then
		opts+=(--tcp)
	else
		link_add "$NS_A" "$DEV_A" "$IF_A" "$1" || return
	fi
	in_net "$NS_B" timeout -k 2 $CELL_LIMIT python3 "$HOLE" "${opts[@]}" >"$TMP/client" 2>"$TMP/said" || {
		sed 's/^/# /' "$TMP/said" >&2
		return 1
	}
	[ "$1" = tcp ] || link_del "$NS_A" "$DEV_A"
	MADE_DEV=()
	value
}

# tails CONTESTANT: prints the name of the file with the delays of the contestant in this case
tails() { echo "$TMP/kept.$1.$C_PATH.$C_CC.$C_SIZE.$C_CRC.$C_MARKERS.$C_AHEAD"; }

# cell_tail CONTESTANT: one run gives all quantiles; the file is removed when the last case of the
# round, p999, has read it
cell_tail() {
	local file opts messages gap
	file=$(tails "$1")
	if [ ! -e "$file" ]; then
		path_is "$C_PATH" "$C_ROUND" && big_windows "$NS_A" "$NS_B" && congestion_control "$C_CC" || return
		read -r messages gap < <(path_messages)
		opts=(-S "$C_SIZE" -n "$messages" -w 100 -g "$gap" -a "$SERVER")
		if [ "$1" = tcp ]; then
			together "$IWT_BIN/iwt_tcpref" -s "${opts[@]}" -p $PORT -- "$IWT_BIN/iwt_tcpref" -c "${opts[@]}" -p $PORT
		else
			opts+=(-o write -d 1024 -e)
			links_up "$1" || return
			together "$IWT_BIN/iwt_bench" -s "${opts[@]}" -p $PORT -- "$IWT_BIN/iwt_bench" -c "${opts[@]}" -p $PORT
		fi || return
		[ "$1" = tcp ] || links_down
		mv "$TMP/server" "$file"
	fi
	cp "$file" "$TMP/client"
	[ "$C_QUANTILE" != p999 ] || rm -f "$file"
	value
}
