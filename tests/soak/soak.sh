#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2034 # the other files use the variables
# The soak test: makes many events happen at the same time, at random, for a long time (see
# Documentation/testing.rst).
#
#	soak.sh [--time SECONDS] [--seed N] [--first ROUND] [--lanes "LANE..."] [--levels]
#
# In each round several lanes, each with its own kind of test, run at the same time: "strict"
# (strict.sh), "chaos1" and "chaos2" (chaos.sh), "links" (links.sh), "direct" (direct.sh) and "core"
# (core.sh). The traffic of the lane "core" continues through all rounds. Between two rounds this
# traffic pauses, and level.sh measures the resources in use. After the first round, and after some
# later rounds, the module is reloaded. If a lane fails, the end of its log is printed.
#
# --time: seconds after which no further round begins (120); --seed: seed of the random choices;
# --first: number of the first round, to repeat a round; --lanes: the lanes to run (all); the
# traffic of "core" runs in any case; --levels: prints the measurements of all rounds but the
# first, if these are at least four rounds.
here=$(dirname "$(realpath "$0")")
TIME=120 SEED=$RANDOM ROUND=1 LANES="strict chaos1 chaos2 links direct core" LEVELS=
while [ $# -gt 0 ]; do
	case $1 in
	--time) TIME=${2:?} ;;
	--seed) SEED=${2:?} ;;
	--first) ROUND=${2:?} ;;
	--lanes) LANES=${2?} ;;
	--levels) LEVELS=1; shift; continue ;;
	*) echo "usage: $0 [--time SECONDS] [--seed N] [--first ROUND] [--lanes LANES] [--levels]" >&2; exit 2 ;;
	esac
	shift 2
done
# shellcheck source=tests/lib/consumer.sh
. "$here/../lib/consumer.sh"
for part in nfs nvme pair drop; do
	# shellcheck disable=SC1090
	. "$here/../lib/$part.sh"
done
for part in choice hosts programs strict chaos links direct core level; do
	# shellcheck disable=SC1090
	. "$here/$part.sh"
done
read -ra LANES <<<"$LANES"
SOAK=$TMP LANE=main WORK=$TMP

# lane NAME: runs one round of the lane; then, except in the lane "core", removes what is left. The
# caller starts this function in a process of its own.
lane() {
	local n=$ROUND
	LANE=$1 WORK=$SOAK/$1
	if [ "$1" = core ]; then trap - EXIT; else trap cleanup_lane EXIT; fi
	mkdir -p "$WORK"
	seed "$SEED" "$1" "$n"
	exec 2>"$SOAK/log-$1"
	"${1%[0-9]}_round"
	note end
}

cleanup_lane() {
	TMP=$WORK
	cleanup
}

# judged LANE: reports the result of the lane, with the lane's log if something was wrong
judged() {
	if [ ! -s "$SOAK/wrong-$1" ]; then
		ok "round $ROUND: $1"
		return
	fi
	# Set LATE if every complaint is a time-out. (Lines that are not complaints are indented.)
	LATE=
	grep -v '^ ' "$SOAK/wrong-$1" | grep -qv ' (time-out)$' || grep -qE "$KTAP_NEVER" "$SOAK/wrong-$1" || LATE=yes
	not_ok "round $ROUND: $1"
	head -n 40 "$SOAK/wrong-$1" | diag
	echo "# done by --seed $SEED --first $ROUND, lane $1:"
	tail -n 60 "$SOAK/log-$1" 2>/dev/null | diag
	rm "$SOAK/wrong-$1"
}

# round: runs all lanes once; then pauses the core, and measures
round() {
	local l pids=() began=$SECONDS
	for l in "${LANES[@]}"; do
		lane "$l" &
		pids+=($!)
	done
	for l in "${pids[@]}"; do
		busywait 600 not alive "$l" || { complain "a lane does not end"; kill -KILL "$l"; }
		wait "$l"
	done
	core_goes_on
	core_pause
	measure "$(printf %05d $ROUND)"
	seed "$SEED" main "$ROUND"
	if [ $ROUND = "$FIRST" ] || chance 30; then
		note "the module is reloaded"
		reload
	fi
	core_resume
	for l in "${LANES[@]}" main; do judged "$l"; done
	echo "# round $ROUND took $((SECONDS - began)) s; $(tail -n 1 "$SOAK/nfs") times NFS, $(tail -n 1 "$SOAK/nvme") times NVMe, $(verified verify4) and $(verified verify6) batches"
}

# levels: reports resources that grew from round to round, without the first round, in which many
# objects are allocated for the first time
levels() {
	local files
	files=("$SOAK"/level.[0-9]*)
	files=("${files[@]:1}")
	if [ ${#files[@]} -lt 4 ]; then
		echo "# ${#files[@]} rounds after the first are too few to see growth"
		return
	fi
	echo "# ${#files[@]} rounds compared"
	[ -z "$LEVELS" ] || awk '{ all[$1] = all[$1] " " $2 } END { for (x in all) print "#", x all[x] }' "${files[@]}"
	growth "${files[@]}" | head -n 30 >"$SOAK/grown"
	if [ -s "$SOAK/grown" ]; then
		not_ok "nothing grows"
		cut -c 1-600 "$SOAK/grown" | diag
	else
		ok "nothing grows"
	fi
}

# as_before: are there at most as many objects as before the first link was made?
as_before() {
	measure after
	more "$SOAK/level.before" "$SOAK/level.after" >"$SOAK/grown"
	[ ! -s "$SOAK/grown" ]
}

finish() {
	ROUND=end
	core_quiet
	core_goes_on
	core_stop
	levels
	# the kernel deletes namespaces and sockets some time after their names
	busywait 120 as_before || { complain "there are more objects than before"; show "$SOAK/grown"; }
	judged main
}

require rping iwt_verify iwt_conn iwt_attach iwt_direct ibv_rc_pingpong rdma nvme fio rpc.nfsd tc
want_configfs && want_modules "${NFS_MODULES[@]}" nvmet-rdma nvme-rdma || skip_all "this kernel has no NFS or NVMe over RDMA"
require_type "$IWT_LINK_TYPE"
ktap_begin
FIRST=$ROUND
echo "# seed $SEED"
seed "$SEED" start
: >"$SOAK/log-main"
modprobe "$IWT_LINK_TYPE"
measure before
if must "the core" core_start; then
	core_goes_on
	judged main
	end=$((SECONDS + TIME))
	while [ $SECONDS -lt $end ]; do
		round
		ROUND=$((ROUND + 1))
	done
	finish
fi
judged main
modprobe -rq nvmet-rdma nvme-rdma
modprobe -rq brd
ktap_finish
