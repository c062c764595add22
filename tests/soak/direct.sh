# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# The lane "direct": programs that do not use rdma_cm come and go. Several pairs of
# ibv_rc_pingpong exchange data at the same time, and are killed or stopped at random moments;
# programs with many queue pairs are killed while these connect. Programs that no event has
# touched must end without an error. The programs poll for completions. So they run with nice(1),
# and other programs have priority.

# direct_setting: changes a setting of both links, to a value with which direct connections work
direct_setting() {
	local link
	one_of "crc on" "crc off" "crc required" "markers on" "markers off" "large_fpdus on" "zerocopy auto"
	is_realtime && [ "$PICK" = "zerocopy auto" ] && return
	note "$PICK"
	for link in "$DEV_A" "$DEV_B"; do
		must "$link $PICK" put_setting "$link" "${PICK% *}" "${PICK#* }"
	done
}

put_setting() { echo "$3" >"$SETTINGS/$1/$2"; }

# gid_index LINK 4|6: sets GID to the index of a GID that is an address of this family
gid_index() {
	local n gid want='0000:0000:0000:0000:0000:ffff:*'
	[ "$2" = 4 ] || want='fd77:*'
	for n in 1 2 3 4 5 6 7; do
		read -r gid <"/sys/class/infiniband/$1/ports/1/gids/$n"
		# shellcheck disable=SC2254
		case $gid in $want) GID=$n; return ;; esac
	done
	return 1
}

gids_are_there() { gid_index "$DEV_A" "$1" && gid_index "$DEV_B" "$1"; }

# pingpong NUMBER ROUNDS 4|6: starts a pair of programs, whose queue pairs exchange ROUNDS messages
# over IPv4 or IPv6 (the programs themselves exchange the GIDs over IPv4); adds the pids of the
# server and of the client to PAIRS
pingpong() {
	local port=$((18515 + $1)) size options server
	one_of 8 4096 30000
	size=$PICK
	options=(-p "$port" -s "$size" -n "$2" -c)
	chance 50 && options+=(-e)
	gid_index "$DEV_B" "$3"
	start nice ip netns exec "$NS_B" ibv_rc_pingpong -d "$DEV_B" -g "$GID" "${options[@]}" >"$WORK/server$1" 2>&1
	server=$PID
	wait_listen "$NS_B" "$port" || { complain "ibv_rc_pingpong does not listen"; show "$WORK/server$1"; return 1; }
	gid_index "$DEV_A" "$3"
	start nice ip netns exec "$NS_A" ibv_rc_pingpong -d "$DEV_A" -g "$GID" "${options[@]}" $IP_B >"$WORK/client$1" 2>&1
	PAIRS+=("$server $PID")
}

# spoilt NUMBER: complains if a program of the pair has received wrong data
spoilt() {
	local file
	for file in "$WORK/server$1" "$WORK/client$1"; do
		if grep -q 'invalid data' "$file"; then complain "ibv_rc_pingpong: wrong data"; show "$file"; fi
	done
}

# pairs_end: several pairs of programs exchange data until they end, and must succeed
pairs_end() {
	local n pid number
	number 1 4
	number=$PICK PAIRS=()
	one_of 4 6
	note "$number pairs over IPv$PICK"
	for ((n = 0; n < number; n++)); do pingpong $n 200 "$PICK" || return; done
	for ((n = 0; n < number; n++)); do
		for pid in ${PAIRS[n]}; do
			if ! busywait 120 not alive "$pid"; then complain "ibv_rc_pingpong does not end"; fi
			ends "$pid"
			[ "$STATUS" = 0 ] && continue
			complain "ibv_rc_pingpong: status $STATUS"
			show "$WORK/server$n"
			show "$WORK/client$n"
		done
		spoilt $n
	done
}

# pairs_killed: starts several pairs of programs; stops and kills them at random moments
pairs_killed() {
	local n pid number file
	number 2 4
	number=$PICK PAIRS=()
	note "$number pairs are killed"
	for ((n = 0; n < number; n++)); do
		one_of 4 6
		pingpong $n 100000000 "$PICK" || return
		chance 50 && rest 3
		one_of ${PAIRS[n]}
		pid=$PICK
		one_of none none STOP KILL
		[ "$PICK" = none ] || kill -"$PICK" "$pid" 2>/dev/null
	done
	rest 8
	for ((n = 0; n < number; n++)); do
		for pid in ${PAIRS[n]}; do
			chance 50 && kill -KILL "$pid" 2>/dev/null
			kill -CONT "$pid" 2>/dev/null
		done
	done
	for ((n = 0; n < number; n++)); do
		file=$WORK/server$n
		for pid in ${PAIRS[n]}; do
			ends "$pid"
			clean ibv_rc_pingpong "$file" "$STATUS"
			file=$WORK/client$n
		done
		spoilt $n
	done
}

# direct_group 4|6: sets GROUP to arguments of iwt_direct: a random group of its tests, and GIDs
# that are addresses of this family
direct_group() {
	one_of basics late leave reset receives errors "-n 60 many" "-n 15 churn"
	read -ra GROUP <<<"$PICK"
	number 1 30000
	GROUP+=(-s "$PICK")
	gid_index "$DEV_A" "$1"
	local from=$GID
	gid_index "$DEV_B" "$1"
	# the options come first, and the name of the group last
	case ${GROUP[0]} in
	-n) GROUP=(-n "${GROUP[1]}" -s "$PICK" "$DEV_A@$NS_A" "$from" "$DEV_B@$NS_B" "$GID" "${GROUP[2]}") ;;
	*) GROUP=(-s "$PICK" "$DEV_A@$NS_A" "$from" "$DEV_B@$NS_B" "$GID" "${GROUP[0]}") ;;
	esac
}

# group_ends: iwt_direct, a program with both ends of its connections, runs a group of tests,
# which must succeed
group_ends() {
	local status=0
	one_of 4 6
	direct_group "$PICK"
	note "iwt_direct ${GROUP[*]}"
	iwt_patient 240 nice "$IWT_BIN/iwt_direct" "${GROUP[@]}" >"$WORK/group" 2>&1 || status=$?
	[ $status = 0 ] && return
	judge_late $status "$WORK/group"
	complain "iwt_direct ${GROUP[*]}: status $status"
	show "$WORK/group"
}

# group_killed: starts iwt_direct as group_ends does, and kills it at a random moment
group_killed() {
	one_of 4 6
	direct_group "$PICK"
	note "iwt_direct ${GROUP[*]} is killed"
	start nice "$IWT_BIN/iwt_direct" "${GROUP[@]}" >"$WORK/group" 2>&1
	rest 9
	kill -KILL "$PID" 2>/dev/null
	ends "$PID"
	clean iwt_direct "$WORK/group" "$STATUS"
}

direct_round() {
	local times link
	hosts d
	must "two hosts" hosts_up || { hosts_down; return; }
	for link in "$DEV_A" "$DEV_B"; do
		mkdir -p "$SETTINGS/$link"
		must "$link: direct_port" put_setting "$link" direct_port 64791
	done
	must "GIDs" busywait 20 gids_are_there 4
	must "GIDs, IPv6" busywait 20 gids_are_there 6
	for ((times = 0; times < 3; times++)); do
		chance 50 && direct_setting
		chance 20 && path "$NS_A" "$IF_A"
		one_of pairs_end pairs_killed pairs_killed group_ends group_killed
		$PICK
	done
	nothing_left
	pairs_end
	hosts_down
}
